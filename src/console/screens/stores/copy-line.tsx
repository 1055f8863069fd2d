import { Copy } from '../../ui/parts.tsx'

type CopyLineProps = { name: string; text: string; label: string }

/** A long value on its own line, with a button that copies it. */
export function CopyLine({ name, text, label }: CopyLineProps) {
  return (
    <div class="actions">
      <span class="soft">{name}</span>
      <code>{text}</code>
      <Copy text={text} label={label} />
    </div>
  )
}
