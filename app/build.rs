//! Makes `text` from the tables in `locales/`: one module whose keys and placeholders the compiler
//! knows. A key that one language has and another lacks ends the build.

#[cfg(feature = "ssr")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use std::{env, fs, path::Path};

    use leptos_i18n_parser::parse_locales::{
        options::{Config, FileFormat, ParseOptions},
        parse_locales,
    };

    const NAMESPACES: [&str; 8] =
        ["frame", "shop", "products", "checkout", "status", "problem", "mail", "lab"];

    println!("cargo::rerun-if-changed=locales");
    let options = ParseOptions::new().file_format(FileFormat::Toml).interpolate_display(true);
    let config = Config::new("en")?
        .add_locales(["ru"])?
        .add_namespaces(NAMESPACES)?
        .locales_path("./locales")
        .parse_options(options);
    let parsed = parse_locales(None, config)?;
    // The library only warns of a missing key, and would show the English one.
    for what in parsed.diag.warnings().iter() {
        println!("cargo::error={what}");
    }
    for what in parsed.diag.errors().iter() {
        println!("cargo::error={what}");
    }
    let code = leptos_i18n_codegen::gen_code(&parsed, None, false, None, false)?;
    let place = env::var("OUT_DIR")?;
    fs::write(Path::new(&place).join("i18n.rs"), code.to_string())?;
    Ok(())
}

#[cfg(not(feature = "ssr"))]
fn main() {
    // The browser is sent finished words.
    println!("cargo::rerun-if-changed=build.rs");
}
