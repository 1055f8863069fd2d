import type { Tx } from './db.ts'

type Work<T> = (tx: Tx) => Promise<T>

/** Work to run at the end of a change, by key. */
export type FinalWork = Map<string, Work<void>>

export function addFinalWork(finalWork: FinalWork, key: string, work: Work<void>) {
  if (!finalWork.has(key)) finalWork.set(key, work)
}

/** Runs a change, then its final work, including any that the final work adds. */
export async function runToEnd<T>(tx: Tx, work: Work<T>, finalWork: FinalWork): Promise<T> {
  const result = await work(tx)
  for (const [key, last] of finalWork) {
    finalWork.delete(key)
    await last(tx)
  }
  return result
}

/** The error for a statement that runs after its change was committed or rolled back. */
export function changeEndedError(): Error {
  return new Error('this transaction is over: await its statements inside write()')
}
