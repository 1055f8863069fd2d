/** C1 controls, line separators, and marks that change the direction of text. JSON leaves them as they are. */
const CONTROLS = /[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/** Escapes as JSON does what could change how a terminal shows a line of the log. */
export function escapeControls(text: string): string {
  return text.replace(
    CONTROLS,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
