//! The eight things on sale, in words.

/// A product's name, its short line, and its story.
pub fn product(sku: &str) -> (&'static str, &'static str, &'static str) {
    match sku {
        "kettle" => (
            "Pouring kettle",
            "Matt steel, 0.8 l, a spout that does not drip.",
            "The handle stays cool and the spout pours a stream as thin as a pencil. Works on gas, induction and a wood stove. Spun in one piece, so there is no seam to clean.",
        ),
        "teapot" => (
            "Side-handle teapot",
            "Unglazed clay, 280 ml, with its own sieve.",
            "A kyusu for one or two. The clay is left bare, and the sieve is pierced by hand: ninety holes, give or take. It gets better with every pot.",
        ),
        "cups" => (
            "Two cups",
            "Porcelain, 120 ml, thin at the lip.",
            "Small enough that the tea stays hot and you come back for more. Glazed inside, bare outside, so that they sit warm in the hand.",
        ),
        "sencha" => (
            "Sencha, spring pick",
            "80 g, grassy and bright.",
            "First leaves of the year, steamed for forty seconds. Use water that has stopped boiling a while ago, and give it one minute.",
        ),
        "hojicha" => (
            "Hojicha, dark roast",
            "100 g, toast and caramel.",
            "Late leaves, roasted until they smell like a bakery. Hardly any caffeine: this is the one for after dinner.",
        ),
        "whisk" => (
            "Bamboo whisk",
            "One piece of bamboo, eighty tines.",
            "Split, not glued. Soak it for a minute before its first bowl, and let it dry standing up.",
        ),
        "tray" => (
            "Ash tray for tea",
            "Oiled ash, 32 × 22 cm.",
            "Turned edges that fingers find in the dark. Oiled twice, so that a spill is just a spill.",
        ),
        "caddy" => (
            "Tea caddy",
            "Tinned steel, holds 100 g, closes by itself.",
            "Set the lid on and watch it sink: the fit is that close. Keeps light and damp away from the leaves.",
        ),
        _ => ("A product", "", ""),
    }
}
