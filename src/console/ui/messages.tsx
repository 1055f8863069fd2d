import { signal } from '@preact/signals'

type Said = { id: number; text: string; tone: 'good' | 'bad' }

const messages = signal<Said[]>([])
const SHOWN_FOR = 6_000
let next = 0

/** Says something for a moment; what went wrong stays until it is closed. */
export function say(text: string, tone: 'good' | 'bad' = 'good') {
  const id = next++
  messages.value = [...messages.value.slice(-3), { id, text, tone }]
  if (tone === 'good') setTimeout(() => close(id), SHOWN_FOR)
}

/** Takes what went wrong from the screen: it was about what was there before. */
export function clearBadMessages() {
  messages.value = messages.value.filter(({ tone }) => tone === 'good')
}

export function Messages() {
  return (
    <div class="messages" role="status" aria-live="polite">
      {messages.value.map(({ id, text, tone }) => (
        <div key={id} class={`message ${tone}`}>
          <span>{text}</span>
          <button
            type="button"
            class="quiet"
            aria-label="Close this message"
            onClick={() => close(id)}
          >
            ×
          </button>
        </div>
      ))}
    </div>
  )
}

function close(id: number) {
  messages.value = messages.value.filter((one) => one.id !== id)
}
