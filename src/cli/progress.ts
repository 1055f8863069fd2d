/** Is told how far long work is. */
export type OnProgress = (step: string, done: number, total: number) => void

const INTERVAL = 100

/** Shows how far long work is, on a terminal; nothing elsewhere. */
export function createProgress(stream = process.stderr) {
  let shownAt = 0
  return { show, end }

  function show(what: string, done: number, total: number) {
    const now = performance.now()
    if (!stream.isTTY || (now - shownAt < INTERVAL && done < total)) return
    shownAt = now
    const percent = total === 0 ? 100 : Math.floor((100 * Math.min(done, total)) / total)
    stream.write(`\r\x1b[K${what} ${percent} %`)
  }

  function end() {
    if (stream.isTTY) stream.write('\r\x1b[K')
  }
}
