import { openData } from '../../../../src/cli/data/open-data.ts'
import { readConfig } from '../../../../src/config/config.ts'
import { createLog } from '../../../../src/lib/log/log.ts'

/**
 * Emits events to the endpoint `url` until it is killed, and prints the text of each event whose change is committed.
 * Each text begins with `prefix`.
 */
const [url = '', prefix = ''] = process.argv.slice(2)
const { services } = await openData(readConfig(), createLog('error'))
const { webhooks, db } = services
if ((await webhooks.endpoints.list()).length === 0)
  await webhooks.endpoints.add({ url, events: ['all'] })
void webhooks.flush()
for (let count = 0; ; count++) {
  const text = `${prefix}-${count}`
  await db.write((tx) => webhooks.emit(tx, { type: 'test', userId: null, data: { text } }))
  process.stdout.write(`${text}\n`)
  await Bun.sleep(2)
}
