import { options } from 'preact'

/** Characters that change the direction of text, and can therefore disguise a name. */
const CONTROLS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** Attributes whose text the browser shows. */
const SHOWN_ATTRIBUTES = ['title', 'aria-label', 'placeholder']

/** Shows direction controls as code points, in every text of the console. */
export function showDirectionControls() {
  const before = options.vnode
  options.vnode = (vnode) => {
    // A text node has no type, and its `props` are its text.
    const node = vnode as unknown as { type: unknown; props: unknown }
    if (node.type === null && typeof node.props === 'string')
      node.props = withVisibleControls(node.props)
    if (typeof node.type === 'string') showInAttributes(node.props as Record<string, unknown>)
    before?.(vnode)
  }
}

function showInAttributes(attributes: Record<string, unknown>) {
  for (const name of SHOWN_ATTRIBUTES) {
    const text = attributes[name]
    if (typeof text === 'string') attributes[name] = withVisibleControls(text)
  }
}

export function withVisibleControls(text: string): string {
  return text.replace(CONTROLS, (control) => `[${toName(control)}]`)
}

/** Returns the code points of the direction controls in a text, such as `U+202E`. */
export function findDirectionControls(text: string): string[] {
  return [...new Set(text.match(CONTROLS) ?? [])].map(toName)
}

function toName(control: string): string {
  return `U+${control.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`
}
