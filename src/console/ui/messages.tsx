import { signal } from '@preact/signals'

type Message = { id: number; text: string; tone: 'good' | 'bad'; undo?: () => void }

const messages = signal<Message[]>([])
const SHOWN_MS = 6_000
let nextId = 0

/** Shows a message for a few seconds, or an error until it is dismissed. Most errors appear beside a button instead. */
export function showMessage(text: string, tone: 'good' | 'bad' = 'good') {
  const id = nextId++
  messages.value = [...messages.value.slice(-3), { id, text, tone }]
  if (tone === 'good') setTimeout(() => close(id), SHOWN_MS)
}

/** Shows a message with an undo button until it is dismissed. Returns a function that dismisses it. */
export function offerUndo(text: string, undo: () => void): () => void {
  const id = nextId++
  messages.value = [...messages.value.slice(-3), { id, text, tone: 'good', undo }]
  return () => close(id)
}

export function dismissMessages() {
  messages.value = []
}

/** The messages, over the bottom of the page, so that the page does not move when one appears. */
export function Messages() {
  return (
    <div class="messages" role="status" aria-live="polite">
      {messages.value.map(({ id, text, tone, undo }) => (
        <div key={id} class={`message ${tone}`}>
          <span>{text}</span>
          {undo && (
            <button
              type="button"
              class="quiet"
              onClick={() => {
                close(id)
                undo()
              }}
            >
              Undo
            </button>
          )}
          <button type="button" class="quiet" aria-label="Dismiss" onClick={() => close(id)}>
            ×
          </button>
        </div>
      ))}
    </div>
  )
}

function close(id: number) {
  messages.value = messages.value.filter((message) => message.id !== id)
}
