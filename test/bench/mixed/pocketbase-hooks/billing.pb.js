// A delivery from the billing provider: stores the event under a unique id and applies it, in one transaction.
// The functions and classes come from PocketBase.
routerAdd('POST', '/api/webhooks/billing/v1', (e) => {
  if (e.request.header.get('Authorization') !== `Bearer ${$os.getenv('WEBHOOK_TOKEN')}`) {
    throw new UnauthorizedError('The token is wrong.')
  }
  const { event } = e.requestInfo().body
  $app.runInTransaction((tx) => {
    const stored = new Record(tx.findCollectionByNameOrId('events'))
    stored.set('eventId', event.id)
    stored.set('event', event)
    tx.save(stored)

    const [found] = tx.findRecordsByFilter('subscriptions', 'line = {:line}', '', 1, 0, {
      line: event.original_transaction_id,
    })
    const subscription = found || new Record(tx.findCollectionByNameOrId('subscriptions'))
    if (found && found.get('eventAt') > event.event_timestamp_ms) return
    subscription.set('line', event.original_transaction_id)
    subscription.set('user', event.app_user_id)
    subscription.set('productId', event.product_id)
    subscription.set('store', event.store)
    subscription.set('eventAt', event.event_timestamp_ms)
    subscription.set('purchasedAt', event.purchased_at_ms)
    subscription.set('expiresAt', event.expiration_at_ms)
    tx.save(subscription)
  })
  return e.json(200, { code: 'ok' })
})
