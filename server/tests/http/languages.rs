//! Which language a page speaks: the one that was chosen, else the one that the browser asks for.

use reqwest::Method;

use crate::shop::{TestShop, send};

#[tokio::test]
async fn a_page_speaks_the_first_language_that_both_sides_know() {
    let shop = TestShop::start().await;
    let rows = [
        (None, "en"),
        (Some("ru"), "ru"),
        (Some("ru-RU,ru;q=0.9,en;q=0.8"), "ru"),
        (Some("en-GB,ru;q=0.9"), "en"),
        (Some("en;q=0.1,ru;q=0.9"), "ru"),
        (Some("de,fr;q=0.9,ru;q=0.2"), "ru"),
        (Some("ru;q=0,en"), "en"),
        (Some("de,fr"), "en"),
        (Some("*"), "en"),
        (Some(";;;,,q=zzz"), "en"),
    ];
    for (asked, expected) in rows {
        let mut request = shop.request(Method::GET, "/cart", None);
        if let Some(asked) = asked {
            request = request.header("accept-language", asked);
        }
        let answer = send(request).await;
        assert!(answer.body.contains(&format!("<html lang=\"{expected}\">")), "{asked:?}");
        let title =
            if expected == "ru" { "Корзина пуста" } else { "Your cart is empty" };
        assert!(answer.body.contains(title), "{asked:?}: {}", answer.body);
        let varies: Vec<_> = answer.headers.get_all("vary").iter().collect();
        assert!(varies.iter().any(|it| *it == "accept-language, cookie"), "{varies:?}");
    }
    shop.running.stop().await;
}

#[tokio::test]
async fn a_chosen_language_is_kept_and_leads_back_to_where_it_was_chosen() {
    let shop = TestShop::start().await;
    let chosen = [("language", "ru"), ("back", "/products/kettle")];
    let answer = shop.post("/language", None, &chosen).await;
    assert_eq!((answer.status, answer.header("location")), (303, "/products/kettle"));
    let cookie = answer.header("set-cookie").to_owned();
    assert!(cookie.starts_with("language=ru; Path=/; HttpOnly; SameSite=Lax"), "{cookie}");
    let english = send(
        shop.request(Method::GET, "/products/kettle", Some("language=ru"))
            .header("accept-language", "en"),
    );
    let page = english.await.body;
    assert!(
        page.contains("<html lang=\"ru\">") && page.contains("Чайник с тонким носиком"),
        "{page}"
    );
    assert_eq!(shop.rows().await["sessions"], 0, "a language needs no session");
    for (language, back) in [("de", "/"), ("", "/"), ("RU", "/")] {
        let answer = shop.post("/language", None, &[("language", language), ("back", back)]).await;
        assert_eq!(answer.status, 400, "{language}");
        assert!(answer.headers.get("set-cookie").is_none());
    }
    let away = [("language", "ru"), ("back", "//evil.test")];
    assert_eq!(shop.post("/language", None, &away).await.header("location"), "/");
    shop.running.stop().await;
}

#[tokio::test]
async fn pages_that_are_drawn_without_a_session_speak_the_language_too() {
    let shop = TestShop::start().await;
    let russian =
        |method, path: &str| shop.request(method, path, None).header("accept-language", "ru");
    let missing = send(russian(Method::GET, "/nowhere")).await;
    assert_eq!(missing.status, 404);
    assert!(missing.body.contains("Такой страницы нет"), "{}", missing.body);
    let foreign = russian(Method::POST, "/cart/lines").header("origin", "https://evil.test");
    let foreign = send(foreign.header("sec-fetch-site", "cross-site").form(&[("sku", "cups")]));
    let foreign = foreign.await;
    assert_eq!(foreign.status, 403);
    assert!(foreign.body.contains("Это пришло с другого сайта"), "{}", foreign.body);
    shop.running.stop().await;
}
