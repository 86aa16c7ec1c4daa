//! Sessions, carts, goods and orders.

use domain::{
    catalogue::{Product, Shortage, Sku},
    id::{CartId, CheckoutId, CustomerId, OrderId},
    mail::Recipient,
    schedule::Timestamp,
};
use sqlx::{Row, SqliteConnection, sqlite::SqliteRow};

use super::{
    constraint,
    rows::{amount, count, currency, time, word},
};
use crate::store::{Cart, Order, OrderLine, StoreError};

type Db = SqliteConnection;

pub async fn customer_of(db: &mut Db, hash: &str) -> Result<Option<CustomerId>, StoreError> {
    let row = sqlx::query("select customer_id from sessions where token_hash = ?")
        .bind(hash)
        .fetch_optional(db)
        .await?;
    row.map(|row| word(&row, "customer_id")).transpose()
}

pub async fn insert_session(
    db: &mut Db,
    hash: &str,
    customer: CustomerId,
    now: Timestamp,
) -> Result<(), StoreError> {
    sqlx::query("insert into sessions (token_hash, customer_id, created_at) values (?, ?, ?)")
        .bind(hash)
        .bind(customer.to_string())
        .bind(now.0)
        .execute(db)
        .await?;
    Ok(())
}

pub async fn open_cart(db: &mut Db, customer: CustomerId) -> Result<Option<Cart>, StoreError> {
    let row = sqlx::query("select * from carts where customer_id = ? and ordered_at is null")
        .bind(customer.to_string())
        .fetch_optional(&mut *db)
        .await?;
    match row {
        Some(row) => Ok(Some(with_lines(db, &row).await?)),
        None => Ok(None),
    }
}

pub async fn cart(db: &mut Db, id: CartId) -> Result<Option<Cart>, StoreError> {
    let row = sqlx::query("select * from carts where id = ?")
        .bind(id.to_string())
        .fetch_optional(&mut *db)
        .await?;
    match row {
        Some(row) => Ok(Some(with_lines(db, &row).await?)),
        None => Ok(None),
    }
}

async fn with_lines(db: &mut Db, row: &SqliteRow) -> Result<Cart, StoreError> {
    let id: CartId = word(row, "id")?;
    let rows =
        sqlx::query("select sku, quantity from cart_lines where cart_id = ? order by position")
            .bind(id.to_string())
            .fetch_all(db)
            .await?;
    let mut lines = Vec::with_capacity(rows.len());
    for line in &rows {
        lines.push((sku(line)?, count(line, "quantity")?));
    }
    let ordered: Option<i64> = row.try_get("ordered_at")?;
    Ok(Cart {
        id,
        customer: word(row, "customer_id")?,
        currency: currency(row, "currency")?,
        version: row.try_get("version")?,
        ordered: ordered.is_some(),
        lines,
    })
}

fn sku(row: &SqliteRow) -> Result<Sku, StoreError> {
    let name: String = row.try_get("sku")?;
    Product::find(&name).map(Product::sku).ok_or(StoreError::Unreadable("sku"))
}

pub async fn save_cart(db: &mut Db, cart: &Cart, now: Timestamp) -> Result<(), StoreError> {
    sqlx::query(
        "insert into carts (id, customer_id, currency, version, created_at) values (?, ?, ?, ?, ?)
         on conflict (id) do update set currency = excluded.currency, version = excluded.version",
    )
    .bind(cart.id.to_string())
    .bind(cart.customer.to_string())
    .bind(cart.currency.code())
    .bind(cart.version)
    .bind(now.0)
    .execute(&mut *db)
    .await
    .map_err(constraint)?;
    sqlx::query("delete from cart_lines where cart_id = ?")
        .bind(cart.id.to_string())
        .execute(&mut *db)
        .await?;
    for (position, (sku, quantity)) in (0_i64..).zip(&cart.lines) {
        sqlx::query(
            "insert into cart_lines (cart_id, sku, quantity, position) values (?, ?, ?, ?)",
        )
        .bind(cart.id.to_string())
        .bind(sku.as_str())
        .bind(i64::from(*quantity))
        .bind(position)
        .execute(&mut *db)
        .await
        .map_err(constraint)?;
    }
    Ok(())
}

pub async fn close_cart(db: &mut Db, id: CartId, now: Timestamp) -> Result<(), StoreError> {
    sqlx::query("update carts set ordered_at = ? where id = ? and ordered_at is null")
        .bind(now.0)
        .bind(id.to_string())
        .execute(db)
        .await?;
    Ok(())
}

pub async fn stock(db: &mut Db) -> Result<Vec<(String, u32)>, StoreError> {
    let rows = sqlx::query("select sku, on_hand - reserved - sold as free from stock")
        .fetch_all(db)
        .await?;
    rows.iter().map(|row| Ok((row.try_get("sku")?, count(row, "free")?))).collect()
}

pub async fn reserve(db: &mut Db, lines: &[OrderLine]) -> Result<Vec<Shortage>, StoreError> {
    let mut short = Vec::new();
    for line in lines {
        let free: Option<i64> =
            sqlx::query_scalar("select on_hand - reserved - sold from stock where sku = ?")
                .bind(line.sku.as_str())
                .fetch_optional(&mut *db)
                .await?;
        let free = free.unwrap_or(0);
        if free < i64::from(line.quantity) {
            let left = u32::try_from(free).unwrap_or(0);
            short.push(Shortage { sku: line.sku.clone(), left });
        }
    }
    if short.is_empty() {
        for line in lines {
            sqlx::query("update stock set reserved = reserved + ? where sku = ?")
                .bind(i64::from(line.quantity))
                .bind(line.sku.as_str())
                .execute(&mut *db)
                .await
                .map_err(constraint)?;
        }
    }
    Ok(short)
}

pub async fn release(db: &mut Db, lines: &[OrderLine]) -> Result<(), StoreError> {
    for line in lines {
        sqlx::query("update stock set reserved = reserved - ? where sku = ?")
            .bind(i64::from(line.quantity))
            .bind(line.sku.as_str())
            .execute(&mut *db)
            .await
            .map_err(constraint)?;
    }
    Ok(())
}

pub async fn sell(db: &mut Db, lines: &[OrderLine]) -> Result<(), StoreError> {
    for line in lines {
        sqlx::query("update stock set reserved = reserved - ?1, sold = sold + ?1 where sku = ?2")
            .bind(i64::from(line.quantity))
            .bind(line.sku.as_str())
            .execute(&mut *db)
            .await
            .map_err(constraint)?;
    }
    Ok(())
}

pub async fn order_of_checkout(db: &mut Db, id: CheckoutId) -> Result<Option<Order>, StoreError> {
    let row = sqlx::query("select * from orders where checkout_id = ?")
        .bind(id.to_string())
        .fetch_optional(&mut *db)
        .await?;
    whole(db, row).await
}

pub async fn order_of_cart(db: &mut Db, id: CartId) -> Result<Option<Order>, StoreError> {
    let row = sqlx::query("select * from orders where cart_id = ?")
        .bind(id.to_string())
        .fetch_optional(&mut *db)
        .await?;
    whole(db, row).await
}

pub async fn order_of_reference(db: &mut Db, text: &str) -> Result<Option<Order>, StoreError> {
    let row = sqlx::query("select * from orders where reference = ?")
        .bind(text)
        .fetch_optional(&mut *db)
        .await?;
    whole(db, row).await
}

pub async fn order(db: &mut Db, id: OrderId) -> Result<Option<Order>, StoreError> {
    let row = sqlx::query("select * from orders where id = ?")
        .bind(id.to_string())
        .fetch_optional(&mut *db)
        .await?;
    whole(db, row).await
}

pub async fn orders_of(db: &mut Db, customer: CustomerId) -> Result<Vec<Order>, StoreError> {
    let rows = sqlx::query(
        "select * from orders where customer_id = ? order by created_at desc, id limit 200",
    )
    .bind(customer.to_string())
    .fetch_all(&mut *db)
    .await?;
    let mut orders = Vec::with_capacity(rows.len());
    for row in rows {
        orders.extend(whole(db, Some(row)).await?);
    }
    Ok(orders)
}

async fn whole(db: &mut Db, row: Option<SqliteRow>) -> Result<Option<Order>, StoreError> {
    let Some(row) = row else { return Ok(None) };
    let id: OrderId = word(&row, "id")?;
    let rows = sqlx::query(
        "select sku, quantity, unit_minor from order_lines where order_id = ? order by position",
    )
    .bind(id.to_string())
    .fetch_all(db)
    .await?;
    let mut lines = Vec::with_capacity(rows.len());
    for line in &rows {
        lines.push(OrderLine {
            sku: sku(line)?,
            quantity: count(line, "quantity")?,
            unit_minor: line.try_get("unit_minor")?,
        });
    }
    Ok(Some(Order {
        id,
        checkout_id: word(&row, "checkout_id")?,
        cart_id: word(&row, "cart_id")?,
        cart_version: row.try_get("cart_version")?,
        customer: word(&row, "customer_id")?,
        reference: row.try_get("reference")?,
        state: word(&row, "state")?,
        request_hash: row.try_get("request_hash")?,
        amount: amount(&row)?,
        goods: word(&row, "goods")?,
        sequence: row.try_get("sequence")?,
        mail_to: row.try_get::<Option<String>, _>("mail_to")?.map(Recipient::new),
        language: row.try_get("language")?,
        created_at: time(&row, "created_at")?,
        lines,
    }))
}

pub async fn insert_order(db: &mut Db, order: &Order) -> Result<(), StoreError> {
    sqlx::query(
        "insert into orders (id, checkout_id, cart_id, cart_version, customer_id, reference, state,
             request_hash, amount_minor, currency, goods, sequence, mail_to, language, created_at,
             updated_at)
         values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(order.id.to_string())
    .bind(order.checkout_id.to_string())
    .bind(order.cart_id.to_string())
    .bind(order.cart_version)
    .bind(order.customer.to_string())
    .bind(&order.reference)
    .bind(order.state.as_str())
    .bind(&order.request_hash)
    .bind(order.amount.minor)
    .bind(order.amount.currency.code())
    .bind(order.goods.as_str())
    .bind(order.sequence)
    .bind(order.mail_to.as_ref().map(Recipient::expose))
    .bind(&order.language)
    .bind(order.created_at.0)
    .bind(order.created_at.0)
    .execute(&mut *db)
    .await
    .map_err(constraint)?;
    for (position, line) in (0_i64..).zip(&order.lines) {
        sqlx::query("insert into order_lines (order_id, sku, quantity, unit_minor, position) values (?, ?, ?, ?, ?)")
            .bind(order.id.to_string())
            .bind(line.sku.as_str())
            .bind(i64::from(line.quantity))
            .bind(line.unit_minor)
            .bind(position)
            .execute(&mut *db)
            .await
            .map_err(constraint)?;
    }
    Ok(())
}

pub async fn update_order(db: &mut Db, order: &Order, now: Timestamp) -> Result<(), StoreError> {
    sqlx::query(
        "update orders set state = ?, goods = ?, sequence = ?, updated_at = ? where id = ?",
    )
    .bind(order.state.as_str())
    .bind(order.goods.as_str())
    .bind(order.sequence)
    .bind(now.0)
    .bind(order.id.to_string())
    .execute(db)
    .await
    .map_err(constraint)?;
    Ok(())
}

pub async fn unpaid_orders(db: &mut Db, before: Timestamp) -> Result<Vec<OrderId>, StoreError> {
    let rows = sqlx::query(
        "select id from orders where state = 'awaiting_payment' and updated_at < ?
         and not exists (select 1 from operations where order_id = orders.id and kind = 'payment'
             and state not in ('rejected', 'canceled'))
         limit 50",
    )
    .bind(before.0)
    .fetch_all(db)
    .await?;
    rows.iter().map(|row| word(row, "id")).collect()
}
