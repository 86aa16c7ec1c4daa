//! What every answer carries, and what browsers may keep.

use crate::shop::TestShop;

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
        assert!(!scripts.is_empty(), "{path} has islands");
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
