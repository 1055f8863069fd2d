/** A server-sent event; without a name it only changes the id or the delay in ms. */
type StreamEvent = { name?: string; id?: string; retry?: number }

/** Splits a stream of server-sent events, in pieces of any length, into events. */
export function createEventParser(dispatch: (event: StreamEvent) => void) {
  let rest = ''
  return (text: string) => {
    const blocks = (rest + text).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const event: StreamEvent = {}
      for (const line of block.split('\n')) {
        const [, field, value = ''] = /^(\w+): ?(.*)$/.exec(line) ?? []
        if (field === 'event') event.name = value
        if (field === 'id') event.id = value
        if (field === 'retry') event.retry = Number(value)
      }
      dispatch(event)
    }
  }
}
