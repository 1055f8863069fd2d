import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Action, Card, Copy } from '../../ui/parts.tsx'

type KeepProps = {
  text: string
  copyLabel: string
  /** Offers the text as a file of this name. */
  fileName?: string
  onHide?: () => void
}

/** Buttons for keeping a text in a safe place. */
export function KeepActions({ text, copyLabel, fileName, onHide }: KeepProps) {
  return (
    <div class="actions secret">
      <Copy text={text} label={copyLabel} kind="primary" />
      {'share' in navigator && <Action run={() => share(text)}>Share</Action>}
      {fileName !== undefined && (
        <a class="button" download={fileName} href={`data:text/plain,${encodeURIComponent(text)}`}>
          Download
        </a>
      )}
      {onHide && <Action run={async () => onHide()}>Hide</Action>}
    </div>
  )
}

type SecretProps = KeepProps & { title: string; children: ComponentChildren }

/** A text that the server shows only once. */
export function OneTimeSecret({ title, children, ...keep }: SecretProps) {
  const element = useRef<HTMLDivElement>(null)
  useEffect(() => {
    element.current?.scrollIntoView({ block: 'center' })
    element.current?.querySelector('button')?.focus({ preventScroll: true })
  }, [keep.text])
  return (
    <div ref={element}>
      <Card title={title}>
        <p>{children}</p>
        <pre>{keep.text}</pre>
        <KeepActions {...keep} />
      </Card>
    </div>
  )
}

async function share(text: string) {
  try {
    await navigator.share({ text })
  } catch (error) {
    // The operator has closed the system's dialog.
    if (!(error instanceof DOMException && error.name === 'AbortError')) throw error
  }
}
