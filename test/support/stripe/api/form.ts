/** A parsed form: `a[b][]=1` is `{ a: { b: ['1'] } }`. */
export type Param = string | Param[] | Params
export type Params = { [name: string]: Param }

export function parseForm(text: string): Params {
  const root: Params = {}
  for (const [name, value] of new URLSearchParams(text)) {
    const path = name.split('[').map((part) => part.replace(/\]$/, ''))
    put(root, path, value)
  }
  return withArrays(root) as Params
}

function put(target: Params, [first = '', ...rest]: string[], value: string) {
  const name = first === '' ? String(Object.keys(target).length) : first
  if (rest.length === 0) {
    target[name] = value
    return
  }
  const inner = target[name]
  const next = typeof inner === 'object' && !Array.isArray(inner) ? inner : {}
  target[name] = next
  put(next, rest, value)
}

function withArrays(value: Param): Param {
  if (typeof value === 'string') return value
  const entries = Object.entries(value).map(([name, one]) => [name, withArrays(one)] as const)
  const isArray = entries.length > 0 && entries.every(([name]) => /^\d+$/.test(name))
  return isArray ? entries.map(([, one]) => one) : Object.fromEntries(entries)
}

/** The names of all values, with `*` for the indexes of arrays, and the names as they were sent. */
export function listNames(params: Params): { name: string; sent: string }[] {
  return Object.entries(params).flatMap(([name, value]) => namesOf(value, name, name))
}

function namesOf(value: Param, name: string, sent: string): { name: string; sent: string }[] {
  if (typeof value === 'string') return [{ name, sent }]
  if (Array.isArray(value)) {
    return value.flatMap((one, at) => namesOf(one, `${name}.*`, `${sent}[${at}]`))
  }
  return Object.entries(value).flatMap(([key, one]) =>
    namesOf(one, `${name}.${key}`, `${sent}[${key}]`),
  )
}

/** The value at a path such as `recurring.interval`, if it is a string. */
export function textAt(params: Params, path: string): string | undefined {
  const found = valueAt(params, path)
  return typeof found === 'string' ? found : undefined
}

export function listAt(params: Params, path: string): Param[] {
  const found = valueAt(params, path)
  return Array.isArray(found) ? found : []
}

/** The strings of an object, such as `metadata`. */
export function textsAt(params: Params, path: string): Record<string, string> | undefined {
  const found = valueAt(params, path)
  if (found === undefined || typeof found === 'string' || Array.isArray(found)) return undefined
  return Object.fromEntries(Object.entries(found).map(([name, value]) => [name, String(value)]))
}

function valueAt(params: Params, path: string): Param | undefined {
  let value: Param | undefined = params
  for (const name of path.split('.')) {
    if (value === undefined || typeof value === 'string' || Array.isArray(value)) return undefined
    value = value[name]
  }
  return value
}
