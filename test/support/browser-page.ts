import type { Storage } from '../../src/client/client.ts'
import { journey } from './journey.ts'

const { location, localStorage } = globalThis as unknown as {
  location: { search: string }
  localStorage: Storage
}
const parameters = new URLSearchParams(location.search)
const [api = '', env = ''] = [parameters.get('api') ?? '', parameters.get('env') ?? '']
const outcome = await journey(api, env, localStorage).catch((error) => ({
  failure: String(error?.stack ?? error),
}))
await fetch('/outcome', { method: 'POST', body: JSON.stringify(outcome) })
