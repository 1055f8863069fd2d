import { appleEvent } from '../stores/apple/event.ts'
import { playEvent } from '../stores/google/event.ts'
import { type BillingEvent, readEvent } from './event.ts'

/** The event in the body of a row of the log. */
export function readStoredEvent(provider: string, body: Uint8Array): BillingEvent | null {
  const document = JSON.parse(utf8(body))
  if (provider === 'app_store') return appleEvent(document)
  return provider === 'play_store' ? playEvent(document) : readEvent(document, body)
}

export function utf8(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
}
