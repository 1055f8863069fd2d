/** Stores the billing provider's deliveries and applies each to its purchase. */
export function createBilling(db) {
  const insertEvent = db.prepare(
    `INSERT INTO events (event_id, type, event_at, received_at, body) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT DO NOTHING`,
  )
  const upsertPurchase = db.prepare(
    `INSERT INTO subscriptions VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1, ?)
     ON CONFLICT (line) DO UPDATE SET
       user_id = excluded.user_id, product_id = excluded.product_id, store = excluded.store,
       period_type = excluded.period_type, event_at = excluded.event_at,
       purchased_at = excluded.purchased_at, expires_at = excluded.expires_at, will_renew = 1,
       entitlements = excluded.entitlements
     WHERE excluded.event_at > event_at`,
  )
  const selectPurchases = db.prepare('SELECT * FROM subscriptions WHERE user_id = ?')

  const receive = db.transaction((event, body) => {
    const at = event.event_timestamp_ms
    const { changes } = insertEvent.run(event.id, event.type, at, Date.now(), body)
    if (changes === 0) return 'duplicate'
    upsertPurchase.run(
      event.original_transaction_id,
      event.app_user_id,
      event.product_id,
      event.store,
      event.period_type,
      at,
      event.purchased_at_ms,
      event.expiration_at_ms,
      JSON.stringify(event.entitlement_ids),
    )
    return 'ok'
  })
  return { receive: receive.immediate, read }

  /** A user's subscription, in the format of Homeport's reply. */
  function read(userId) {
    const now = Date.now()
    const purchases = selectPurchases.all(userId)
    const subscriptions = purchases.map((purchase) => ({
      productId: purchase.product_id,
      store: purchase.store,
      status: purchase.expires_at > now ? 'active' : 'expired',
      periodType: purchase.period_type,
      purchasedAt: new Date(purchase.purchased_at).toISOString(),
      expiresAt: new Date(purchase.expires_at).toISOString(),
      willRenew: purchase.will_renew === 1,
    }))
    const entitlements = purchases.flatMap((purchase) =>
      JSON.parse(purchase.entitlements).map((id) => ({
        id,
        active: purchase.expires_at > now,
        expiresAt: new Date(purchase.expires_at).toISOString(),
        productId: purchase.product_id,
        store: purchase.store,
      })),
    )
    return { environment: 'production', entitlements, subscriptions }
  }
}
