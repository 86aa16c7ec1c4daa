//! Built assets, and the page for everything that is not there.

use app::text::problem::Problem;
use axum::{
    extract::{Request, State},
    http::{Method, StatusCode},
    response::{IntoResponse, Response},
};
use leptos::config::LeptosOptions;
use tower::ServiceExt;
use tower_http::services::ServeDir;

use super::{Shop, answer};

/// Pages work without assets, but nobody should have to guess why they look bare.
pub fn warn_if_missing(options: &LeptosOptions) {
    let folder =
        std::path::Path::new(options.site_root.as_ref()).join(options.site_pkg_dir.as_ref());
    if !folder.is_dir() {
        tracing::warn!(folder = %folder.display(), "there are no built assets: pages have no style; run `make run`, or set PAYONCE_SITE_ROOT");
    }
}

/// A file of the site, or a page that says that there is none.
pub async fn file_or_not_found(State(shop): State<Shop>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    if request.method() == Method::GET || request.method() == Method::HEAD {
        let files = ServeDir::new(shop.options.site_root.as_ref())
            .precompressed_br()
            .append_index_html_on_directories(false);
        if let Ok(found) = files.oneshot(request).await
            && found.status() != StatusCode::NOT_FOUND
            && found.status() != StatusCode::METHOD_NOT_ALLOWED
        {
            return found.into_response();
        }
    }
    answer::problem(&shop, answer::stranger(&path), StatusCode::NOT_FOUND, Problem::NotFound, None)
        .await
}
