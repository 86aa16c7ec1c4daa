//! The files that the scenarios name, as text, from the repository that this program was built in.

use std::path::Path as FilePath;

use app::{
    Visitor,
    pages::lab::scenario::{Proof, Scenario, Told},
};
use axum::{
    Extension,
    extract::{Path, State},
    http::header,
    response::{IntoResponse, Response},
};

use super::nothing_here;
use crate::http::Shop;

/// A file of this repository that the scenarios name, and no other.
pub async fn file(
    State(shop): State<Shop>,
    Extension(visitor): Extension<Visitor>,
    Path(path): Path<String>,
) -> Response {
    let named = |Proof { file, code, .. }: Proof| path == file || path == code;
    let told = Told::ALL.iter().map(|it| it.proof());
    if !Scenario::listed().filter_map(Scenario::proof).chain(told).any(named) {
        return nothing_here(&shop, visitor).await;
    }
    let repository = FilePath::new(env!("CARGO_MANIFEST_DIR")).join("..");
    match tokio::fs::read_to_string(repository.join(&path)).await {
        Ok(text) => ([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response(),
        Err(_) => nothing_here(&shop, visitor).await,
    }
}
