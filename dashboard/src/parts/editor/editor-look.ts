import { HighlightStyle } from '@codemirror/language';
import { EditorView } from '@codemirror/view';
import { tags } from '@lezer/highlight';

/** Colours are the tokens of the page, which a shadow tree inherits: they follow its theme. */
export const colours = HighlightStyle.define([
  { tag: [tags.string, tags.attributeValue], color: 'var(--ok)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--retrying)' },
  { tag: [tags.keyword, tags.atom, tags.tagName, tags.typeName], color: 'var(--accent)' },
  { tag: [tags.propertyName, tags.attributeName], color: 'var(--text)' },
  { tag: tags.comment, color: 'var(--text-faint)' },
  { tag: [tags.operator, tags.punctuation], color: 'var(--text-soft)' },
]);

export const look = EditorView.theme({
  '&': { maxHeight: '320px', color: 'var(--text)', fontSize: 'inherit' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'inherit', lineHeight: '1.5', overflow: 'auto' },
  '.cm-content': { padding: '5px 0', caretColor: 'var(--text)' },
  '.cm-line': { padding: '0 9px' },
  '.cm-placeholder': { color: 'var(--text-faint)' },
  '.cm-lintRange-error': {
    backgroundImage: 'none',
    textDecoration: 'underline wavy var(--failed)',
    textDecorationSkipInk: 'none',
  },
  '&.cm-focused .cm-matchingBracket': { backgroundColor: 'var(--surface-selected)' },
  '.cm-tooltip': {
    border: 'none',
    borderRadius: 'var(--radius)',
    backgroundColor: 'var(--surface-raised)',
    color: 'var(--text)',
    boxShadow: 'var(--shadow-floating)',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': {
    fontFamily: 'var(--mono)',
    maxHeight: '260px',
    minWidth: '220px',
    padding: '4px',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': {
    display: 'flex',
    gap: '16px',
    padding: '4px 8px',
    borderRadius: 'var(--radius-small)',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    backgroundColor: 'var(--surface-selected)',
    color: 'var(--text)',
  },
  '.cm-completionMatchedText': { textDecoration: 'none', fontWeight: 'var(--weight-strong)' },
  '.cm-completionDetail': {
    marginInlineStart: 'auto',
    color: 'var(--text-soft)',
    fontFamily: 'var(--font)',
    fontStyle: 'normal',
  },
  '.cm-diagnostic': { borderInlineStart: '3px solid var(--failed)', fontFamily: 'var(--font)' },
});
