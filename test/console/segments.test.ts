import { expect, test } from 'bun:test'
import { decodeSegment, encodeSegment } from '../../src/lib/text/path-segment.ts'
import { createTestApp } from '../support/app.ts'
import { deliver, purchase } from '../support/billing.ts'
import { signInOperator } from '../support/operator.ts'

/** Ids that a provider may send and that have a special meaning in a URL path. */
const IDS = ['..', '.', '%2E%2E', '%2e', '%252E%252E', '../..', 'a/b', 'a?b#c', '%', 'replay', '…']

test.each(IDS)('opens and replays an event with the id %p', async (id) => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  await deliver(app, { ...purchase(id), id })
  // A browser resolves dots in a path before it sends the request.
  const { pathname } = new URL(`/console/api/events/${encodeSegment(id)}`, 'http://localhost')
  const event = await ann.read(pathname.replace('/console/api/', ''))
  expect([event.eventId, event.appUserId]).toEqual([id, id])
  const replay = `events/${encodeSegment(id)}/replay`
  expect((await ann.ask('POST', replay)).json.response.outcome).toBe('applied')
  const [entry] = (await ann.read('audit?action=events.replay')).entries
  expect(entry.target).toBe(id)
  const timeline = new URL(`/people/${encodeSegment(id)}/timeline`, 'http://localhost').pathname
  expect(JSON.stringify(await ann.read(timeline.slice(1)))).toContain('prod_example_pro')
})

test.each(IDS)('decodes the path segment of %p', (id) => {
  const { pathname } = new URL(`/console/events/${encodeSegment(id)}`, 'http://localhost')
  expect(pathname.split('/').slice(3).map(decodeSegment)).toEqual([id])
})
