// After all tests.

import { reportLooks } from "./inspect.js";

export default reportLooks;
