//! What every answer carries, and what browsers may keep.

use reqwest::Method;

use crate::shop::{TestShop, send};

/// The nonce of a page's policy.
fn nonce(policy: &str) -> &str {
    policy.split("'nonce-").nth(1).expect("a nonce").split('\'').next().unwrap()
}

#[tokio::test]
async fn every_page_has_a_policy_with_a_nonce_of_its_own() {
    let shop = TestShop::start().await;
    let mut seen = std::collections::HashSet::new();
    for path in ["/", "/", "/products/cups", "/cart", "/checkout", "/orders", "/nothing"] {
        let answer = shop.get(path, None).await;
        let policy = answer.header("content-security-policy");
        for part in [
            "default-src 'none'",
            "'strict-dynamic'",
            "'wasm-unsafe-eval'",
            "style-src 'self';",
            "connect-src 'self'",
            "img-src 'self' data:",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
            "object-src 'none'",
        ] {
            assert!(policy.contains(part), "{path}: {part} in {policy}");
        }
        assert!(!policy.contains("unsafe-inline") && !policy.contains("'unsafe-eval'"), "{policy}");
        let nonce = nonce(policy).to_owned();
        let scripts: Vec<&str> = answer.body.split("<script").skip(1).collect();
        assert!(!scripts.is_empty(), "{path} has scripts");
        for script in scripts {
            let tag = script.split('>').next().unwrap();
            assert!(tag.contains(&format!("nonce=\"{nonce}\"")), "{path}: <script{tag}>");
        }
        assert!(!answer.body.contains(" style=\""), "{path}: inline styles would be refused");
        assert!(seen.insert(nonce), "{path}: a nonce was used twice");
    }
    shop.running.stop().await;
}

#[tokio::test]
async fn every_answer_is_guarded_and_kept_by_nobody() {
    let shop = TestShop::start().await;
    let session = shop.session().await;
    let redirect = shop.get("/checkout/6f9619ff-8b86-4011-b42d-00cf4fc964ff/check", None).await;
    assert_eq!(redirect.status, 303);
    let answers = [
        shop.get("/", None).await,
        shop.get("/cart", Some(&session)).await,
        shop.get("/cart/count", Some(&session)).await,
        shop.get("/orders", Some(&session)).await,
        shop.get("/nothing", None).await,
        shop.get("/pkg/nothing.0123.js", None).await,
        shop.get("/healthz", None).await,
        shop.post("/cart/lines", None, &[]).await,
        shop.post("/webhooks/nobody", None, &[]).await,
        redirect,
    ];
    for answer in answers {
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "same-origin"),
            ("x-frame-options", "DENY"),
            ("cache-control", "no-store"),
        ] {
            assert_eq!(answer.header(name), value, "{name} of {}", answer.status);
        }
        assert!(answer.header("content-security-policy").contains("frame-ancestors 'none'"));
        assert!(answer.header("permissions-policy").contains("camera=()"));
        assert_eq!(answer.header("x-request-id").len(), 36);
        assert_eq!(answer.header("strict-transport-security"), "", "not without https");
    }
    shop.running.stop().await;
}

#[tokio::test]
async fn hashed_assets_are_kept_for_good_and_others_briefly() {
    let shop = TestShop::start().await;
    let site = shop.folder.path().join("site");
    std::fs::write(site.join("pkg/payonce.0a1b2c.js"), "export {}").unwrap();
    std::fs::write(site.join("favicon.svg"), "<svg/>").unwrap();
    std::fs::write(shop.folder.path().join("secret.txt"), "canary").unwrap();
    let hashed = shop.get("/pkg/payonce.0a1b2c.js", None).await;
    assert_eq!((hashed.status, hashed.body.as_str()), (200, "export {}"));
    assert_eq!(hashed.header("cache-control"), "public, max-age=31536000, immutable");
    assert!(hashed.header("content-type").contains("javascript"));
    let icon = shop.get("/favicon.svg", None).await;
    assert_eq!((icon.status, icon.header("cache-control")), (200, "public, max-age=300"));
    for path in [
        "/pkg",
        "/pkg/",
        "/..%2fsecret.txt",
        "/%2e%2e/secret.txt",
        "/pkg/..%2f..%2fsecret.txt",
        "/pkg/%00",
    ] {
        let answer = shop.get(path, None).await;
        assert!([404, 400, 307].contains(&answer.status), "{path}: {}", answer.status);
        assert!(!answer.body.contains("canary"), "{path}");
    }
    shop.running.stop().await;
}

#[tokio::test]
async fn files_are_sent_as_they_were_compressed_by_the_build() {
    let shop = TestShop::start().await;
    let site = shop.folder.path().join("site/pkg");
    for (name, kind) in [
        ("payonce.0a.js", "text/javascript"),
        ("payonce.0a.css", "text/css"),
        ("payonce.0a.wasm", "application/wasm"),
    ] {
        for ending in ["", ".br", ".gz"] {
            std::fs::write(site.join(format!("{name}{ending}")), format!("as{ending}")).unwrap();
        }
        for (accepted, encoding, body) in [
            (None, "", "as"),
            (Some("gzip, deflate, br, zstd"), "br", "as.br"),
            (Some("gzip"), "gzip", "as.gz"),
            (Some("zstd"), "", "as"),
        ] {
            let request = shop.request(Method::GET, &format!("/pkg/{name}"), None);
            let request = match accepted {
                Some(accepted) => request.header("accept-encoding", accepted),
                None => request,
            };
            let answer = send(request).await;
            let told = (answer.header("content-encoding"), answer.body.as_str());
            assert_eq!((answer.status, told), (200, (encoding, body)), "{name} for {accepted:?}");
            assert_eq!(answer.header("content-type"), kind);
            assert_eq!(answer.header("vary"), "accept-encoding");
            assert_eq!(answer.header("cache-control"), "public, max-age=31536000, immutable");
        }
    }
    shop.running.stop().await;
}

#[tokio::test]
async fn pages_are_compressed_on_their_way_and_streams_are_not() {
    let shop = TestShop::start().await;
    let session = shop.session().await;
    let (action, fields) = shop.form(&session).await;
    assert_eq!(shop.pay(&session, &action, &fields).await.status, 303);
    let page = action.trim_end_matches("/pay");
    let get = |path: &str, accepted: &str| {
        let request = shop.request(Method::GET, path, Some(&session));
        request.header("accept-encoding", accepted).send()
    };
    for path in ["/", "/checkout", page, "/nothing"] {
        let plain = shop.get(path, Some(&session)).await;
        assert_eq!(plain.header("content-encoding"), "", "{path}");
        for encoding in ["br", "gzip"] {
            let answer = get(path, encoding).await.unwrap();
            assert_eq!(answer.headers()["content-encoding"], encoding, "{path}");
            assert_eq!(answer.headers()["vary"], "accept-encoding", "{path}");
            let length = answer.content_length();
            let sent = answer.bytes().await.unwrap().len();
            assert_eq!(length, u64::try_from(sent).ok(), "{path} is sent whole");
            assert!(sent * 2 < plain.body.len(), "{path}: {sent} of {}", plain.body.len());
        }
    }
    let stream = get(&format!("{page}/events"), "br, gzip").await.unwrap();
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    assert!(stream.headers().get("content-encoding").is_none());
    drop(stream);
    shop.running.stop().await;
}

#[tokio::test]
async fn only_pages_with_islands_load_wasm() {
    let shop = TestShop::start().await;
    let session = shop.session().await;
    let (action, fields) = shop.form(&session).await;
    let first = shop.get("/checkout", Some(&session)).await;
    assert_eq!(shop.pay(&session, &action, &fields).await.status, 303);
    let status = shop.get(action.trim_end_matches("/pay"), Some(&session)).await;
    for (page, what) in [(first, "checkout"), (status, "status")] {
        assert!(page.body.contains("<leptos-island"), "{what}");
        assert!(page.body.contains(".wasm") && page.body.contains("modulepreload"), "{what}");
    }
    for path in ["/", "/products/cups", "/cart", "/checkout", "/orders", "/nothing"] {
        let page = shop.get(path, Some(&session)).await;
        for part in ["<leptos-island", ".wasm", "modulepreload", "import("] {
            assert!(!page.body.contains(part), "{path}: {part}");
        }
        assert!(page.body.contains("data-cart-count=\"0\""), "{path}");
    }
    shop.running.stop().await;
}
