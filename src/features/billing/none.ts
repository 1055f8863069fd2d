/** Null, as the first value of a field that may hold a T. */
export function none<T>(): T | null {
  return null
}
