//! Writes every status page that can be, as plain files to look at: `target/gallery/index.html`.
//!
//!     cargo run -p app --features ssr --example gallery

use std::{fmt::Write as _, fs, path::Path};

mod samples;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = root.join("target/gallery");
    fs::create_dir_all(&folder)?;
    for name in ["main", "tokens", "base", "components", "pages", "motion"] {
        fs::copy(root.join(format!("style/{name}.css")), folder.join(format!("{name}.css")))?;
    }
    let tokens = samples::TOKENS.map(str::to_owned);
    let mut list = String::new();
    for sample in samples::all() {
        for (lang, _) in app::text::LANGS {
            let panel = app::panel::render(lang, &sample.view, &tokens);
            let file = format!("{}-{}.html", sample.name, app::text::code(lang));
            fs::write(folder.join(&file), page(&panel.heading, &panel.html))?;
            writeln!(list, "<li><a href=\"{file}\">{}</a>: {}</li>", sample.name, panel.heading)?;
        }
    }
    fs::write(folder.join("index.html"), page("Gallery", &format!("<ul>{list}</ul>")))?;
    Ok(())
}

fn page(title: &str, content: &str) -> String {
    format!(
        "<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>{title}</title><link rel=\"stylesheet\" \
         href=\"main.css\"><body><main>{content}</main></body></html>"
    )
}
