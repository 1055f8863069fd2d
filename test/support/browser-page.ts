import type { Storage } from '../../src/client/client.ts'
import { journey } from './journey.ts'

const { location, localStorage } = globalThis as unknown as {
  location: { search: string; origin: string }
  localStorage: Storage
}
const env = new URLSearchParams(location.search).get('env') ?? ''
const outcome = await journey(location.origin, env, localStorage).catch((error) => ({
  failure: String(error?.stack ?? error),
}))
await fetch('/outcome', { method: 'POST', body: JSON.stringify(outcome) })
