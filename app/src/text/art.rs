//! The drawings: one hand, flat shapes, light from the left, standing on one table.
//!
//! They carry no colour: every shape names a class, and the style sheet has a tone of it for the
//! light and for the dark. The table's edge is at 136 of 200, its things stand on 168.

/// The shop's mark: steam over a cup.
pub const MARK: &str = r#"<svg viewBox="0 0 32 32" width="34" height="34"><path class="m-fill" d="M5 16h20v2.5a9 9 0 0 1-9 9h-2a9 9 0 0 1-9-9z"/><path class="m-line" d="M25 17.5c4.5-.5 4.5 6.5-1.5 6M11 12.5c-2.5-3 2.5-4.5 0-8.5M17.5 12.5c-2.5-3 2.5-4.5 0-8.5"/></svg>"#;

/// The front page's picture: a table laid for tea, as the inside of a 460 × 340 picture.
pub fn hero() -> String {
    let [kettle, teapot, cups] = ["kettle", "teapot", "cups"].map(product);
    format!(
        r#"<circle cx="318" cy="104" r="66" class="a-sun"/><rect y="252" width="460" height="88" class="a-table"/><path d="M0 252h460" class="a-line a-hair"/><g transform="translate(2 58) scale(1.24)">{kettle}</g><g transform="translate(226 106) scale(1.08)">{teapot}</g><g transform="translate(142 180) scale(.8)">{cups}</g>"#
    )
}

/// A product's drawing, as the inside of a 200 × 200 picture.
pub fn product(sku: &str) -> &'static str {
    match sku {
        "kettle" => KETTLE,
        "teapot" => TEAPOT,
        "cups" => CUPS,
        "sencha" => SENCHA,
        "hojicha" => HOJICHA,
        "whisk" => WHISK,
        "tray" => TRAY,
        "caddy" => CADDY,
        _ => "",
    }
}

const KETTLE: &str = r#"<ellipse cx="112" cy="168" rx="70" ry="8" class="a-shadow"/>
<path d="M74 150c-32 2-22-36-32-56-4-8-12-12-21-9" class="a-line a-neck"/>
<path d="M134 102c44-8 46 30 17 52" class="a-line a-bar"/><path d="M163 108c7 7 6 20-1 31" class="a-line a-grip"/>
<path d="M68 92h64l16 66c1 6-2 10-8 10H60c-6 0-9-4-8-10z" class="a-steel"/>
<path d="M114 92h18l16 66c1 6-2 10-8 10h-22c10-22 8-50-4-76z" class="a-over"/>
<path d="M76 104l-11 48" class="a-line a-glint"/>
<path d="M70 90c2-15 58-15 60 0z" class="a-steel-dark"/><rect x="64" y="88" width="72" height="7" rx="3.5" class="a-dark"/>
<path d="M100 78v-8" class="a-line a-bar"/><circle cx="100" cy="66" r="8" class="a-wood"/><path d="M96 63c1-2 3-3 5-3" class="a-line a-hair a-white"/>
<path d="M18 70c-6-8 5-12 0-22" class="a-line a-steam"/>"#;

const TEAPOT: &str = r#"<ellipse cx="106" cy="168" rx="66" ry="8" class="a-shadow"/>
<path d="M146 124l38-24" class="a-line a-handle"/><ellipse cx="187" cy="98" rx="6" ry="9.5" transform="rotate(58 187 98)" class="a-clay"/>
<path d="M52 134c-14-8-12-28-28-40l11-9c16 10 20 18 30 24z" class="a-clay-dark"/>
<path d="M44 124c0-28 24-42 56-42s56 14 56 42c0 30-22 44-56 44s-56-14-56-44z" class="a-clay"/>
<path d="M126 87c18 6 30 18 30 37 0 30-22 44-56 44-9 0-17-1-24-3 52-4 70-42 50-78z" class="a-over"/>
<path d="M57 118c3-13 12-21 25-25" class="a-line a-glint"/><path d="M47 138c24 12 82 12 106 0M51 146c24 11 74 11 98 0" class="a-line a-hair a-white"/>
<ellipse cx="100" cy="84" rx="37" ry="7" class="a-clay-dark"/><path d="M66 82c4-16 64-16 68 0z" class="a-clay"/><path d="M112 71c12 2 20 5 22 11h-20c2-4 1-8-2-11z" class="a-over"/>
<circle cx="100" cy="63" r="8" class="a-clay-dark"/><path d="M95 60c1-2 3-3 5-3" class="a-line a-hair a-white"/>
<path d="M22 78c-6-8 5-12 0-22" class="a-line a-steam"/>"#;

const CUPS: &str = r#"<ellipse cx="150" cy="158" rx="36" ry="6" class="a-shadow"/>
<path d="M112 96h64c0 38-10 60-32 60s-32-22-32-60z" class="a-sage"/><path d="M158 96h18c0 38-10 60-32 60-3 0-6 0-8-1 20-8 26-34 22-59z" class="a-over"/><path d="M119 112c1 12 4 22 9 29" class="a-line a-glint"/>
<ellipse cx="144" cy="96" rx="32" ry="8" class="a-sage-dark"/><ellipse cx="144" cy="98" rx="27" ry="5.5" class="a-tea"/>
<ellipse cx="82" cy="169" rx="46" ry="7" class="a-shadow"/>
<path d="M30 104h84c0 42-14 65-42 65s-42-23-42-65z" class="a-paper"/><path d="M34 135c6 22 18 34 38 34s32-12 38-34c-20 8-56 8-76 0z" class="a-bare"/>
<path d="M92 104h22c0 42-14 65-42 65-4 0-8 0-11-1 26-8 36-36 31-64z" class="a-over"/><path d="M38 118c1 6 2 11 4 16" class="a-line a-glint"/>
<ellipse cx="72" cy="104" rx="42" ry="10" class="a-bare"/><ellipse cx="72" cy="106" rx="36" ry="7" class="a-tea"/><path d="M48 105c6-3 16-5 26-5" class="a-line a-hair a-white"/>
<path d="M62 88c-8-10 7-17 0-30M82 88c-8-11 7-19 0-34" class="a-line a-steam"/>"#;

const SENCHA: &str = r#"<ellipse cx="108" cy="168" rx="52" ry="7" class="a-shadow"/>
<path d="M58 60h84l6 99c0 6-3 9-8 9H60c-5 0-8-3-8-9z" class="a-sage"/><path d="M122 60h20l6 99c0 6-3 9-8 9h-16c8-34 6-74-2-108z" class="a-over"/><path d="M66 70l-4 84" class="a-line a-glint"/>
<path d="M56 62l5-24h78l5 24z" class="a-sage-dark"/><path d="M59 50h82" class="a-line a-hair a-white"/><rect x="82" y="31" width="36" height="13" rx="3" class="a-bamboo"/><path d="M88 38h24" class="a-line a-hair"/>
<rect x="69" y="82" width="62" height="66" rx="3" class="a-paper"/><path d="M100 132v-26" class="a-line a-stem"/>
<path d="M100 124c-17 0-23-10-23-19 15 0 23 7 23 19zM100 117c17 0 23-10 23-19-15 0-23 7-23 19zM100 108c-7-6-6-13 0-18 6 5 7 12 0 18z" class="a-leaf"/>
<path d="M86 139h28" class="a-line a-hair"/><path d="M160 165c3-4 8-4 11-1M170 158c2-3 6-3 9-1M26 164c4-4 8-3 11 0" class="a-line a-stem"/>"#;

const HOJICHA: &str = r#"<ellipse cx="108" cy="168" rx="52" ry="7" class="a-shadow"/>
<path d="M58 60h84l6 99c0 6-3 9-8 9H60c-5 0-8-3-8-9z" class="a-roast"/><path d="M122 60h20l6 99c0 6-3 9-8 9h-16c8-34 6-74-2-108z" class="a-over"/><path d="M66 70l-4 84" class="a-line a-glint"/>
<path d="M56 62l5-24h78l5 24z" class="a-roast-dark"/><path d="M59 50h82" class="a-line a-hair a-white"/><rect x="82" y="31" width="36" height="13" rx="3" class="a-bamboo"/><path d="M88 38h24" class="a-line a-hair"/>
<rect x="69" y="82" width="62" height="66" rx="3" class="a-paper"/><circle cx="100" cy="107" r="16" class="a-clay"/><path d="M86 115c8-7 20 7 28 0M85 107c9-7 21 7 30 0M89 99c7-5 15 5 22 0" class="a-line a-wave"/>
<path d="M84 131h32M90 139h20" class="a-line a-hair"/><path d="M159 166l12-4M171 160l8-3M24 165l13-2" class="a-line a-twig"/>"#;

const WHISK: &str = r#"<ellipse cx="108" cy="168" rx="34" ry="7" class="a-shadow"/>
<path d="M82 108C62 86 57 58 64 38c8-7 64-7 72 0 7 20 2 48-18 70z" class="a-bamboo"/><path d="M118 34c8 1 14 2 18 4 7 20 2 48-18 70H99c22-20 28-50 19-74z" class="a-over"/>
<path d="M85 107C68 86 62 60 68 37M89 107C76 86 71 60 76 35M94 107C86 86 82 60 85 34M98 107c-3-21-4-47-3-74M102 107c3-21 4-47 3-74M106 107c8-21 12-47 9-73M111 107c13-21 18-47 13-72M115 107c17-21 23-47 17-70" class="a-line a-tine"/>
<path d="M82 112h36v50c0 4-8 6-18 6s-18-2-18-6z" class="a-bamboo"/><path d="M106 112h12v50c0 4-8 6-18 6 6-14 8-36 6-56z" class="a-over"/><path d="M82 140c10 4 26 4 36 0" class="a-line a-hair"/><path d="M88 120v14" class="a-line a-glint"/>
<path d="M81 101h38v13H81z" class="a-accent"/><path d="M81 105h38M81 110h38" class="a-line a-hair a-white"/>
<path d="M138 164c14-3 28-9 40-10" class="a-line a-scoop"/>"#;

const TRAY: &str = r#"<ellipse cx="100" cy="160" rx="84" ry="7" class="a-shadow"/>
<path d="M24 144l32-46h88l32 46z" class="a-wood"/><path d="M42 138l24-34h68l24 34z" class="a-wood-dark"/>
<path d="M56 130c28-4 58 4 90-2M66 114c24-3 44 3 68-1M60 122c22 3 52-4 78 1" class="a-line a-hair"/>
<path d="M24 144h152v8c0 5-3 8-8 8H32c-5 0-8-3-8-8z" class="a-wood"/><path d="M24 152c0 5 3 8 8 8h136c5 0 8-3 8-8z" class="a-over"/><path d="M86 150h28" class="a-line a-glint"/>
<ellipse cx="88" cy="127" rx="21" ry="4" class="a-shadow"/><path d="M62 92h44c0 22-7 34-22 34s-22-12-22-34z" class="a-paper"/><path d="M94 92h12c0 22-7 34-22 34h-5c13-4 18-18 15-34z" class="a-over"/><ellipse cx="84" cy="92" rx="22" ry="5.5" class="a-bare"/><ellipse cx="84" cy="93" rx="18" ry="3.8" class="a-tea"/>
<ellipse cx="130" cy="129" rx="17" ry="3.5" class="a-shadow"/><path d="M112 122c0-9 7-14 15-14s15 5 15 14c0 5-7 6-15 6s-15-1-15-6z" class="a-sage"/><path d="M119 115c2-3 5-4 8-4" class="a-line a-glint"/>
<path d="M78 80c-6-8 5-12 0-22M90 80c-6-8 5-13 0-24" class="a-line a-steam"/>"#;

const CADDY: &str = r#"<ellipse cx="108" cy="168" rx="50" ry="7" class="a-shadow"/>
<path d="M58 84h84v74c0 6-19 10-42 10s-42-4-42-10z" class="a-steel"/>
<path d="M58 100c12 6 72 6 84 0v46c-12 7-72 7-84 0z" class="a-paper"/>
<path d="M58 116a10.5 9 0 0 1 21 2 10.5 9 0 0 1 21 0 10.5 9 0 0 1 21 0 10.5 9 0 0 1 21-2M58 130a10.5 9 0 0 1 10.5 0 10.5 9 0 0 1 21 2 10.5 9 0 0 1 21 0 10.5 9 0 0 1 21-2 10.5 9 0 0 1 10.5 0M58 143a10.5 9 0 0 1 21 3 10.5 9 0 0 1 21 0 10.5 9 0 0 1 21 0 10.5 9 0 0 1 21-3" class="a-line a-wave a-green"/>
<path d="M56 56c0-6 20-10 44-10s44 4 44 10v30c0 6-20 9-44 9s-44-3-44-9z" class="a-steel-dark"/><ellipse cx="100" cy="56" rx="44" ry="9" class="a-steel"/><ellipse cx="100" cy="54" rx="9" ry="3" class="a-dark"/>
<path d="M122 93c13-1 22-4 22-7V60c-4 3-12 5-22 5zM124 97c9-1 15-2 18-4v65c0 4-8 7-20 9 4-22 4-48 2-70z" class="a-over"/><path d="M66 70v14M67 106v34" class="a-line a-glint"/>"#;
