import { signal } from '@preact/signals'

type Message = { id: number; text: string; tone: 'good' | 'bad' }

const messages = signal<Message[]>([])
const SHOWN_MS = 6_000
let nextId = 0

/**
 * Shows a message for a few seconds; an error stays until it is dismissed. Most errors are shown beside the button that
 * was pressed instead.
 */
export function showMessage(text: string, tone: 'good' | 'bad' = 'good') {
  const id = nextId++
  messages.value = [...messages.value.slice(-3), { id, text, tone }]
  if (tone === 'good') setTimeout(() => close(id), SHOWN_MS)
}

/** Dismisses the errors of the previous screen. */
export function dismissErrors() {
  messages.value = messages.value.filter(({ tone }) => tone === 'good')
}

export function dismissMessages() {
  messages.value = []
}

/** A part of the header, so that a message never covers a button. */
export function Messages() {
  return (
    <div class="messages" role="status" aria-live="polite">
      {messages.value.map(({ id, text, tone }) => (
        <div key={id} class={`message ${tone}`}>
          <span>{text}</span>
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
