import { invalid, missing } from './errors.ts'
import { type Params, textAt } from './form.ts'

/** The parameters of every list. */
export const PAGE_PARAMS = ['limit', 'starting_after', 'ending_before']

type Listing<T> = { all: T[]; matches?: (one: T) => boolean; kind: string }

/** A page of the objects that match. `all` is ordered from the oldest to the newest; Stripe lists the newest first. */
export function pageOf<T extends { id: string }>(
  { all, matches = () => true, kind }: Listing<T>,
  params: Params,
  url: string,
) {
  const limit = limitOf(params)
  const after = textAt(params, 'starting_after')
  const before = textAt(params, 'ending_before')
  const step = before === undefined ? -1 : 1
  const first = after === undefined ? all.length - 1 : placeOf(after, 'starting_after') - 1
  const found: T[] = []
  let at = before === undefined ? first : placeOf(before, 'ending_before') + 1
  for (; at >= 0 && at < all.length && found.length <= limit; at += step) {
    const one = all[at]
    if (one !== undefined && matches(one)) found.push(one)
  }
  const data = found.slice(0, limit)
  if (before !== undefined) data.reverse()
  return { object: 'list', url, has_more: found.length > limit, data }

  function placeOf(id: string, param: string): number {
    const place = all.findLastIndex((one) => one.id === id)
    if (place < 0) throw missing(kind, id, { param, status: 400 })
    return place
  }
}

function limitOf(params: Params): number {
  const limit = textAt(params, 'limit') ?? '10'
  if (!/^\d+$/.test(limit))
    throw invalid(`Invalid integer: ${limit}`, 'limit', 'parameter_invalid_integer')
  if (Number(limit) < 1 || Number(limit) > 100) {
    throw invalid('This value must be between 1 and 100.', 'limit')
  }
  return Number(limit)
}

/** The parameters of a range of times. */
export function rangeParams(name: string): string[] {
  return [name, ...['gt', 'gte', 'lt', 'lte'].map((bound) => `${name}.${bound}`)]
}

/** Whether a time (in seconds) is within the requested range. */
export function isInRange(time: number, params: Params, name: string): boolean {
  const exact = textAt(params, name)
  const bound = (which: string) => textAt(params, `${name}.${which}`)
  const [gt, gte, lt, lte] = [bound('gt'), bound('gte'), bound('lt'), bound('lte')]
  return (
    (exact === undefined || time === Number(exact)) &&
    (gt === undefined || time > Number(gt)) &&
    (gte === undefined || time >= Number(gte)) &&
    (lt === undefined || time < Number(lt)) &&
    (lte === undefined || time <= Number(lte))
  )
}
