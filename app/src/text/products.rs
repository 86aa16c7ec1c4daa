//! The eight things on sale, in words.

/// What is said about a product.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProductWords {
    /// Its name.
    pub name: &'static str,
    /// One line: what it is made of, how large, how much.
    pub line: &'static str,
    /// Why somebody would want it.
    pub story: &'static str,
    /// Facts: a name and a value each.
    pub facts: &'static [(&'static str, &'static str)],
}

/// A product's words.
pub fn words(sku: &str) -> ProductWords {
    let (name, line, story, facts): (_, _, _, &'static [_]) = match sku {
        "kettle" => KETTLE,
        "teapot" => TEAPOT,
        "cups" => CUPS,
        "sencha" => SENCHA,
        "hojicha" => HOJICHA,
        "whisk" => WHISK,
        "tray" => TRAY,
        "caddy" => CADDY,
        _ => ("A product", "", "", &[]),
    };
    ProductWords { name, line, story, facts }
}

/// A product's name, its short line, and its story.
pub fn product(sku: &str) -> (&'static str, &'static str, &'static str) {
    let ProductWords { name, line, story, .. } = words(sku);
    (name, line, story)
}

type Words = (&'static str, &'static str, &'static str, &'static [(&'static str, &'static str)]);

const KETTLE: Words = (
    "Pouring kettle",
    "Brushed steel, 0.8 l, with a spout that does not drip.",
    "The handle stays cool, and the spout pours a stream as thin as a pencil, exactly where you want it. Spun from one sheet, so there is no seam to scrub.",
    &[
        ("Holds", "0.8 l, enough for four small cups"),
        ("Works on", "gas, induction, a wood stove"),
        ("Care", "rinse, and leave the lid off to dry"),
    ],
);
const TEAPOT: Words = (
    "Side-handle teapot",
    "Bare red clay, 280 ml, with its own sieve.",
    "A kyusu for one or two. The clay is left unglazed and the sieve is pierced by hand: ninety holes, give or take. It gets better with every pot.",
    &[
        ("Holds", "280 ml"),
        ("Suits", "sencha, hojicha, anything with leaves"),
        ("Care", "hot water only; soap stays in the clay"),
    ],
);
const CUPS: Words = (
    "Two cups",
    "Porcelain, 120 ml each, thin at the lip.",
    "Small enough that the tea is still hot at the bottom and you come back for more. Glazed inside and bare below, so that they sit warm in the hand.",
    &[
        ("Holds", "120 ml each"),
        ("In the box", "one white, one sage"),
        ("Care", "dishwasher is fine"),
    ],
);
const SENCHA: Words = (
    "Sencha, spring pick",
    "Green tea, 80 g, grassy and bright.",
    "The first leaves of the year, steamed for forty seconds on the day they are picked. Let the water stop boiling for a while, then give it one minute.",
    &[("Water", "70 °C, 200 ml"), ("Leaves", "4 g, two teaspoons"), ("Time", "one minute")],
);
const HOJICHA: Words = (
    "Hojicha, dark roast",
    "Roasted green tea, 100 g, toast and caramel.",
    "Late leaves, roasted until they smell like a bakery at six in the morning. Hardly any caffeine: this is the one for after dinner.",
    &[
        ("Water", "95 °C, 250 ml"),
        ("Leaves", "5 g, a heaped tablespoon"),
        ("Time", "half a minute"),
    ],
);
const WHISK: Words = (
    "Bamboo whisk",
    "One piece of bamboo, eighty tines.",
    "Split with a knife, not glued, and tied with thread. Soak it for a minute before its first bowl, and let it dry standing up.",
    &[
        ("Tines", "eighty, for a fine foam"),
        ("Lasts", "about a year of mornings"),
        ("Care", "warm water, no soap"),
    ],
);
const TRAY: Words = (
    "Ashwood tray",
    "Solid ash, oiled, 32 × 22 cm.",
    "Turned-up edges that fingers find in the dark. Oiled twice, so that a spill is just a spill.",
    &[
        ("Size", "32 × 22 × 2 cm"),
        ("Wood", "ash from the Harz"),
        ("Care", "wipe, and oil it once a year"),
    ],
);
const CADDY: Words = (
    "Tea caddy",
    "Tinned steel and washi paper, for 100 g.",
    "Set the lid on and watch it sink: the fit is that close. It keeps light and damp away from the leaves, and looks well doing it.",
    &[
        ("Holds", "100 g of leaf tea"),
        ("Paper", "hand-printed, so each is a little different"),
        ("Care", "a dry cloth"),
    ],
);
