//! The drawings: one hand, flat shapes, colours from the style sheet so that they suit the dark too.

/// The shop's mark: steam over a cup.
pub const MARK: &str = r#"<svg viewBox="0 0 32 32" width="32" height="32"><path d="M7 15h18v3a9 9 0 0 1-18 0z" fill="var(--color-accent)"/><path d="M11 3c3 3-2 4 1 8M16 2c3 3-2 5 1 9M21 3c3 3-2 4 1 8" fill="none" stroke="var(--color-accent)" stroke-width="2" stroke-linecap="round"/><path d="M5 29h22" stroke="var(--color-accent)" stroke-width="2" stroke-linecap="round"/></svg>"#;

/// A product's drawing, as the inside of a 200 × 200 picture.
pub fn product(sku: &str) -> &'static str {
    match sku {
        "kettle" => {
            r#"<ellipse cx="100" cy="168" rx="70" ry="9" class="a-shade"/><path d="M62 78c0-40 76-40 76 0" class="a-line a-thick"/><path d="M52 156c-6-50 12-76 48-76s54 26 48 76c-1 8-8 10-14 10H66c-6 0-13-2-14-10z" class="a-steel"/><path d="M146 112c20-2 22-26 38-40" class="a-line a-thick"/><path d="M62 150c-4-34 6-54 26-62-30 4-44 30-40 66 1 6 5 9 9 10 4-2 6-6 5-14z" class="a-dark"/><rect x="78" y="72" width="44" height="12" rx="6" class="a-dark"/><circle cx="100" cy="66" r="8" class="a-accent"/>"#
        }
        "teapot" => {
            r#"<ellipse cx="98" cy="168" rx="66" ry="9" class="a-shade"/><path d="M40 120c0-34 26-50 58-50s58 16 58 50-24 46-58 46-58-12-58-46z" class="a-clay"/><path d="M150 108l40-14 4 14-40 22z" class="a-clay-dark"/><path d="M46 108c-14-4-18-18-28-26l-8 8c12 10 14 30 32 36z" class="a-clay-dark"/><path d="M64 76c6-14 62-14 68 0z" class="a-clay-dark"/><circle cx="98" cy="60" r="8" class="a-clay"/><path d="M44 132c20 14 88 14 108 0" class="a-line a-thin"/>"#
        }
        "cups" => {
            r#"<ellipse cx="66" cy="164" rx="46" ry="7" class="a-shade"/><ellipse cx="142" cy="158" rx="40" ry="6" class="a-shade"/><path d="M28 92h76c0 46-12 70-38 70s-38-24-38-70z" class="a-paper"/><ellipse cx="66" cy="92" rx="38" ry="9" class="a-tea"/><path d="M108 98h66c0 38-10 58-32 58-10 0-18-4-24-12 4-14 6-32 6-46z" class="a-sage"/><ellipse cx="142" cy="98" rx="32" ry="8" class="a-tea"/><path d="M58 76c8-8-6-14 2-26M74 78c8-8-6-16 2-28" class="a-line a-soft"/>"#
        }
        "sencha" => {
            r#"<ellipse cx="100" cy="170" rx="52" ry="8" class="a-shade"/><path d="M56 52h88l6 110c0 5-3 8-8 8H58c-5 0-8-3-8-8z" class="a-sage"/><path d="M56 52l6-18h76l6 18z" class="a-sage-dark"/><rect x="68" y="82" width="64" height="60" rx="4" class="a-paper"/><path d="M100 92c18 12 20 28 0 42-20-14-18-30 0-42z" class="a-leaf"/><path d="M100 96v36" class="a-line a-thin"/>"#
        }
        "hojicha" => {
            r#"<ellipse cx="100" cy="170" rx="52" ry="8" class="a-shade"/><path d="M56 52h88l6 110c0 5-3 8-8 8H58c-5 0-8-3-8-8z" class="a-clay"/><path d="M56 52l6-18h76l6 18z" class="a-clay-dark"/><rect x="68" y="82" width="64" height="60" rx="4" class="a-paper"/><path d="M84 130c0-14 10-14 8-26 10 4 8 12 10 14 2-4 2-8 0-12 12 8 16 24 4 32-10 4-22 2-22-8z" class="a-accent"/>"#
        }
        "whisk" => {
            r#"<ellipse cx="100" cy="172" rx="50" ry="7" class="a-shade"/><path d="M86 28h28v60H86z" class="a-bamboo"/><path d="M86 44h28M86 64h28" class="a-line a-thin"/><rect x="80" y="86" width="40" height="12" rx="3" class="a-accent"/><path d="M82 98c-24 24-34 48-30 72h12c-2-26 6-50 22-72zM118 98c24 24 34 48 30 72h-12c2-26-6-50-22-72zM92 98c-10 24-14 46-12 72h12c-2-26 0-48 4-72zM108 98c10 24 14 46 12 72h-12c2-26 0-48-4-72z" class="a-bamboo"/>"#
        }
        "tray" => {
            r#"<ellipse cx="100" cy="152" rx="84" ry="10" class="a-shade"/><path d="M24 112l34-26h84l34 26-10 34H34z" class="a-wood"/><path d="M38 114l26-18h72l26 18z" class="a-wood-dark"/><path d="M34 146l-10-34h152l-10 34z" class="a-wood"/><path d="M76 128h48" class="a-line a-thick"/><path d="M86 70h28v14c0 12-28 12-28 0z" class="a-paper"/><path d="M96 60c5-5-4-9 1-16M106 60c5-5-4-9 1-16" class="a-line a-soft"/>"#
        }
        "caddy" => {
            r#"<ellipse cx="100" cy="170" rx="50" ry="8" class="a-shade"/><path d="M56 70h88v92c0 5-3 8-8 8H64c-5 0-8-3-8-8z" class="a-steel"/><path d="M56 70V46c0-6 4-10 10-10h68c6 0 10 4 10 10v24z" class="a-dark"/><rect x="56" y="98" width="88" height="36" class="a-paper"/><path d="M92 104c14 8 14 16 0 26-2-10-2-16 0-26zM110 106c10 6 10 14 0 22-2-8-2-14 0-22z" class="a-leaf"/>"#
        }
        _ => "",
    }
}
