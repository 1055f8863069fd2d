import { signal } from '@preact/signals'

type Message = { id: number; text: string }

const messages = signal<Message[]>([])
const SHOWN_MS = 6_000
let nextId = 0

/** Confirms an action for a few seconds. Errors are shown beside the button that was pressed. */
export function showMessage(text: string) {
  const id = nextId++
  messages.value = [...messages.value.slice(-3), { id, text }]
  setTimeout(() => close(id), SHOWN_MS)
}

export function dismissMessages() {
  messages.value = []
}

/** A part of the header, so that a message never covers a button. */
export function Messages() {
  return (
    <div class="messages" role="status" aria-live="polite">
      {messages.value.map(({ id, text }) => (
        <div key={id} class="message good">
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
