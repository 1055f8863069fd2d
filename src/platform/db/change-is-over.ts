/** For a statement that runs after its change was committed or rolled back. */
export function changeIsOver(): Error {
  return new Error('this transaction is over: await its statements inside write()')
}
