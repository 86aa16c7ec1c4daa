use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

const LIMIT: Duration = Duration::from_millis(300);

#[tokio::test]
async fn a_peer_that_takes_nothing_is_given_up() {
    let (ours, _theirs) = tokio::io::duplex(64);
    let mut stream = Patience::new(ours, LIMIT);
    let written = tokio::time::timeout(LIMIT * 20, stream.write_all(&[0; 65])).await;
    assert_eq!(written.unwrap().unwrap_err().kind(), io::ErrorKind::TimedOut);
}

#[tokio::test]
async fn a_peer_that_takes_little_at_a_time_is_waited_for() {
    let (ours, mut theirs) = tokio::io::duplex(64);
    let mut stream = Patience::new(ours, LIMIT);
    let reading = async {
        let mut taken = 0;
        // In all far longer than the limit, but never that long without a byte.
        while taken < 64 * 8 {
            tokio::time::sleep(LIMIT / 4).await;
            taken += theirs.read(&mut [0; 64]).await.unwrap();
        }
    };
    let (written, ()) = tokio::join!(stream.write_all(&[0; 64 * 8]), reading);
    assert!(written.is_ok(), "{written:?}");
}
