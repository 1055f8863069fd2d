/** The error of a statement whose change was committed or undone before it ran. */
export function changeIsOver(): Error {
  return new Error('this change is over: what belongs to it must be awaited inside of write()')
}
