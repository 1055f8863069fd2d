/** The error for a statement that runs after its change was committed or rolled back. */
export function changeEndedError(): Error {
  return new Error('this transaction is over: await its statements inside write()')
}
