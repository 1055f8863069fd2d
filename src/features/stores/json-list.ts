import { type Json, toObject } from '../../lib/text/json.ts'

/** The objects in a JSON array; empty for anything else. */
export function toList(value: unknown): Json[] {
  return Array.isArray(value) ? value.map(toObject) : []
}
