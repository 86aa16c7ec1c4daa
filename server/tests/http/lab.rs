//! The fault lab's door: there only where it is set up, and never beside real money.

use app::pages::lab::scenario::{Scenario, Told};
use clap::Parser;
use server::config::{Flags, check};

use crate::shop::TestShop;

const CONTROL: [&str; 2] = ["--lab-control-url", "http://127.0.0.1:9"];

#[tokio::test]
async fn without_its_setting_there_is_no_lab_and_nothing_leads_to_it() {
    let shop = TestShop::start().await;
    let session = shop.session().await;
    let id = "6f9619ff-8b86-4011-b42d-00cf4fc964ff";
    for path in [
        "/lab",
        "/lab/storm",
        "/lab/numbers",
        "/lab/source/README.md",
        &format!("/lab/{id}"),
        &format!("/lab/{id}/watch"),
    ] {
        assert_eq!(shop.get(path, Some(&session)).await.status, 404, "{path}");
    }
    let before = shop.rows().await;
    let of = |what: &str| format!("/lab/{id}/{what}");
    for path in ["/lab/start".to_owned(), of("naive"), of("calm"), of("refund/1")] {
        let path = path.as_str();
        let form = [("scenario", "lost_response")];
        assert_eq!(shop.post(path, Some(&session), &form).await.status, 404, "{path}");
    }
    assert_eq!(shop.rows().await, before);
    for path in ["/", "/cart", "/checkout", "/orders"] {
        assert!(!shop.get(path, Some(&session)).await.body.contains("\"/lab"), "{path}");
    }
    shop.running.stop().await;
}

#[tokio::test]
async fn with_it_the_footer_leads_to_every_scenario() {
    let shop = TestShop::with(&CONTROL).await;
    assert!(shop.get("/", None).await.body.contains("href=\"/lab\""));
    let page = shop.get("/lab", None).await;
    assert_eq!(page.status, 200);
    for scenario in Scenario::ALL {
        assert!(page.body.contains(&format!("value=\"{scenario}\"")), "{scenario}");
    }
    for told in Told::ALL {
        assert!(page.body.contains(&format!("data-told=\"{told}\"")), "{told}");
        let path = told.page();
        assert!(page.body.contains(&format!("href=\"{path}\"")), "{told}");
        assert_eq!(shop.get(path, None).await.status, 200, "{told}");
    }
    let storm = shop.get("/lab/storm", None).await.body;
    for figure in ["<td>50</td><td>20,000</td>", "<td>20,000</td><td>40,000</td>"] {
        assert!(storm.contains(figure), "{figure}: {storm}");
    }
    assert_eq!(shop.rows().await["sessions"], 0, "who only looks needs no session");
    shop.running.stop().await;
}

#[tokio::test]
async fn what_cannot_be_started_is_told_and_what_is_nobodys_is_not_found() {
    let shop = TestShop::with(&CONTROL).await;
    let session = shop.session().await;
    for form in [
        &[][..],
        &[("scenario", "nonsense")],
        &[("scenario", "own")],
        // There is no invoicing partner here.
        &[("scenario", "invoice_without_keys")],
        &[
            ("scenario", "own"),
            ("execute", "now"),
            ("answer", "drop"),
            ("webhook", "never"),
            ("lookup", "truthful"),
            ("card", "visa"),
            ("refund", "normal"),
            ("times", "thrice"),
        ],
    ] {
        assert_eq!(shop.post("/lab/start", Some(&session), form).await.status, 400, "{form:?}");
    }
    // Nobody listens at the control API's address.
    let answer = shop.post("/lab/start", Some(&session), &[("scenario", "cut_body")]).await;
    assert_eq!(answer.status, 502);
    assert!(answer.body.contains("nothing was started"), "{}", answer.body);
    let (action, fields) = shop.form(&session).await;
    assert_eq!(shop.pay(&session, &action, &fields).await.status, 303);
    let checkout = action.split('/').nth(2).unwrap();
    let path = format!("/lab/{checkout}");
    // An order of one's own can be watched even so; the provider's side is then not known.
    let watched = shop.get(&path, Some(&session)).await;
    assert_eq!(watched.status, 200);
    assert!(watched.body.contains("did not answer"), "{}", watched.body);
    let stranger = shop.session().await;
    for session in [Some(stranger.as_str()), None] {
        assert_eq!(shop.get(&path, session).await.status, 404);
        assert_eq!(shop.get(&format!("{path}/watch"), session).await.status, 404);
        assert_eq!(shop.post(&format!("{path}/calm"), session, &[]).await.status, 404);
        assert_eq!(shop.post(&format!("{path}/naive"), session, &[]).await.status, 404);
        assert_eq!(shop.post(&format!("{path}/refund/1"), session, &[]).await.status, 404);
    }
    shop.running.stop().await;
}

#[tokio::test]
async fn every_named_test_and_file_exists_and_can_be_read_there_and_no_other_file_can() {
    let shop = TestShop::with(&CONTROL).await;
    let listed = Scenario::listed().map(|it| (it.as_str(), it.proof().unwrap()));
    let told = Told::ALL.iter().map(|it| (it.as_str(), it.proof()));
    for (scenario, proof) in listed.chain(told) {
        let test = shop.get(&format!("/lab/source/{}", proof.file), None).await;
        let declared = format!("fn {}()", proof.test);
        assert!(test.body.contains(&declared), "{scenario}: {declared} in {}", proof.file);
        let code = shop.get(&format!("/lab/source/{}", proof.code), None).await;
        assert_eq!(code.status, 200, "{scenario}: {}", proof.code);
        assert!(code.body.starts_with("//! "), "{}", proof.code);
        assert_eq!(code.header("content-type"), "text/plain; charset=utf-8");
    }
    for other in ["README.md", ".env", "../etc/passwd", "%2e%2e/Cargo.toml", "server/Cargo.toml"] {
        assert_eq!(shop.get(&format!("/lab/source/{other}"), None).await.status, 404, "{other}");
    }
    shop.running.stop().await;
}

#[test]
fn a_lab_beside_real_money_or_for_everybody_is_refused_and_all_of_it_told_at_once() {
    let key = ["--examplepay-api-key", "sk_test"];
    let of = |more: &[&str]| {
        let all = [&["payonce"], &key[..], more].concat();
        check(&Flags::parse_from(all))
    };
    let stripe = [
        "--stripe-api-key",
        "sk_live_1",
        "--stripe-webhook-secret",
        "whsec_1",
        "--stripe-publishable-key",
        "pk_live_1",
    ];
    let paypal = [
        "--paypal-client-id",
        "id",
        "--paypal-client-secret",
        "secret",
        "--paypal-webhook-id",
        "WH-1",
        "--paypal-url",
        "https://api-m.paypal.com",
    ];
    let public = ["--public-url", "https://shop.test"];
    assert!(of(&CONTROL).unwrap().lab.is_some());
    assert!(
        of(&[]).unwrap().lab.is_none() && of(&["--lab-control-url", ""]).unwrap().lab.is_none()
    );
    assert!(of(&[&CONTROL[..], &["--public-url", "https://localhost:3000"]].concat()).is_ok());
    // Beside real money the simulator's key is refused, with a lab and without.
    let is_lab = |it: &&String| it.starts_with("PAYONCE_LAB_CONTROL_URL ");
    for (alone, real_money) in [(&stripe[..], 1), (&paypal, 1), (&public, 0)] {
        assert_eq!(of(alone).err().map_or(0, |it| it.len()), real_money, "{alone:?}");
        let lines = of(&[&CONTROL[..], alone].concat()).unwrap_err();
        assert_eq!(lines.iter().filter(is_lab).count(), 1, "{lines:?}");
        assert_eq!(lines.len(), 1 + real_money, "{lines:?}");
    }
    let all = [&["--lab-control-url", "ftp://x"], &stripe[..], &public, &["--time-scale", "0"]];
    let lines = of(&all.concat()).unwrap_err();
    assert_eq!(lines.iter().filter(is_lab).count(), 3);
    assert_eq!(lines.len(), 5, "{lines:?}");
    let without = [
        "payonce",
        CONTROL[0],
        CONTROL[1],
        "--stripe-api-key",
        "sk_test_1",
        "--stripe-webhook-secret",
        "whsec_1",
    ];
    let lines = check(&Flags::parse_from(without)).unwrap_err();
    assert!(lines.len() == 1 && lines[0].contains("PAYONCE_EXAMPLEPAY_API_KEY"), "{lines:?}");
}
