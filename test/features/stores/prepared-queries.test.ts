import { expect } from 'bun:test'
import {
  createWorld,
  deliver as deliverNotification,
  submit,
} from '../../support/app-store/world.ts'
import { type Ask, countBuilt } from '../../support/built-queries.ts'
import { onSqlite } from '../../support/databases.ts'

onSqlite('it counts the texts of its dialect')(
  'purchases and notifications from a store build no queries after the first few',
  async () => {
    await using world = await createWorld()
    const { app, store, token, userId } = world
    const asks: Record<string, Ask> = {
      'submit a purchase': () => submit(app, token, [store.buy().signedTransaction()]),
      'receive a notification': () => deliverNotification(app, store.buy({ userId }).notification),
    }
    expect(await countBuilt(asks)).toEqual({})
  },
)
