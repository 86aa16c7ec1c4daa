//! Built assets, and the page for everything that is not there.

use std::path::Path;

use app::text::problem::Problem;
use axum::{
    extract::{Request, State},
    http::{HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use leptos::config::LeptosOptions;
use tower::ServiceExt;
use tower_http::services::ServeDir;

use super::{Shop, answer, session};

/// Whether the build left its list of hashed names beside the program.
pub fn are_hashed() -> bool {
    let beside =
        std::env::current_exe().ok().and_then(|program| Some(program.parent()?.join("hash.txt")));
    beside.is_some_and(|list| list.is_file())
}

/// Nobody should have to guess why pages look bare.
pub fn warn_if_missing(options: &LeptosOptions) {
    let folder = Path::new(options.site_root.as_ref()).join(options.site_pkg_dir.as_ref());
    if !options.hash_files || !folder.is_dir() {
        tracing::warn!(folder = %folder.display(), "there are no built assets: pages work, but bare; run `make run`, or set PAYONCE_SITE_ROOT");
    }
}

/// How long a browser may keep a file: for good where its name tells its content.
fn kept(path: &str) -> &'static str {
    let name = path.strip_prefix("/pkg/").unwrap_or_default();
    // As in `payonce.<hash>.js`.
    if name.split('.').count() > 2 {
        "public, max-age=31536000, immutable"
    } else {
        "public, max-age=300"
    }
}

/// A file of the site, or a page that says that there is none.
pub async fn file_or_not_found(State(shop): State<Shop>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let lang = session::language(request.headers());
    if request.method() == Method::GET || request.method() == Method::HEAD {
        let files = ServeDir::new(shop.options.site_root.as_ref())
            .precompressed_br()
            .precompressed_gzip()
            .append_index_html_on_directories(false);
        if let Ok(found) = files.oneshot(request).await
            && found.status() != StatusCode::NOT_FOUND
            && found.status() != StatusCode::METHOD_NOT_ALLOWED
        {
            let mut found = found.into_response();
            if found.status().is_success() || found.status() == StatusCode::NOT_MODIFIED {
                let kept = HeaderValue::from_static(kept(&path));
                found.headers_mut().insert(header::CACHE_CONTROL, kept);
            }
            return found;
        }
    }
    answer::problem(
        &shop,
        answer::stranger(lang, &path),
        StatusCode::NOT_FOUND,
        Problem::NotFound,
        None,
    )
    .await
}

/// A page that takes no such method.
pub async fn no_such_method(State(shop): State<Shop>, request: Request) -> Response {
    let json = answer::wants_json(request.headers());
    let lang = session::language(request.headers());
    let refusal = (StatusCode::METHOD_NOT_ALLOWED, Problem::NotFound);
    answer::refuse(&shop, answer::stranger(lang, "/"), json, refusal).await
}
