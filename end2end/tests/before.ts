// Before all tests.

import { forgetLooks } from "./inspect.js";

export default forgetLooks;
