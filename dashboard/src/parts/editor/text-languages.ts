import { LanguageSupport, StreamLanguage, type StringStream } from '@codemirror/language';
import { json, jsonParseLinter } from '@codemirror/lang-json';
import { type Diagnostic, linter } from '@codemirror/lint';
import { Compartment, type Extension } from '@codemirror/state';
import { type EditorView, ViewPlugin } from '@codemirror/view';
import { unreachable } from '../../api/members-of.ts';

/** `filter` is that of rules, filters and sorts. */
export type TextLanguage = 'filter' | 'json' | 'html' | 'sql';

export type Tables = Readonly<Record<string, readonly string[]>>;

export function languageOf(language: TextLanguage, tables: Tables = {}): Extension {
  switch (language) {
    case 'filter':
      return new LanguageSupport(filters);
    case 'json':
      return [json(), linter(jsonProblems)];
    case 'html':
      return loaded(async () => (await import('@codemirror/lang-html')).html({ autoCloseTags: true }));
    case 'sql':
      return loaded(async () =>
        (await import('@codemirror/lang-sql')).sql({ schema: tables, upperCaseKeywords: true }),
      );
    default:
      return unreachable(language);
  }
}

/** A language that comes when it is first wanted. The text can be edited before, and where it cannot be loaded. */
function loaded(load: () => Promise<LanguageSupport>): Extension {
  const place = new Compartment();
  const loader = ViewPlugin.define((view) => {
    let isOpen = true;
    void load().then(
      (support) => {
        if (isOpen) view.dispatch({ effects: place.reconfigure(support) });
      },
      () => undefined,
    );
    return { destroy: () => void (isOpen = false) };
  });
  return [place.of([]), loader];
}

const patterns: readonly (readonly [token: string, pattern: RegExp])[] = [
  ['comment', /^\/\/.*/],
  ['string', /^(?:'(?:\\.|[^'\\])*'?|"(?:\\.|[^"\\])*"?)/],
  ['number', /^\d+(?:\.\d+)?/],
  ['atom', /^@[\w.:]*/],
  ['bool', /^(?:true|false|null)\b/i],
  ['keyword', /^\w+(?=\()/],
  ['propertyName', /^[\w.:]+/],
  ['operator', /^(?:&&|\|\||\??!?[=~]|\??[<>]=?)/],
];

/** The words of docs/filters.md. */
const filters = StreamLanguage.define({
  name: 'filter',
  token: (stream: StringStream): string | null => {
    if (stream.eatSpace()) return null;
    const [token] = patterns.find(([, pattern]) => stream.match(pattern)) ?? [];
    if (token === undefined) stream.next();
    return token ?? null;
  },
  languageData: { commentTokens: { line: '//' }, closeBrackets: { brackets: ['(', "'", '"'] } },
});

function jsonProblems(view: EditorView): readonly Diagnostic[] {
  const text = view.state.doc.toString();
  if (text.trim() === '') return [];
  return parseProblems(view).map((problem) => ({ ...problem, ...wordAt(text, problem.from) }));
}

const parseProblems = jsonParseLinter();

/** Returns the word that begins at, or is around, a position; of a text that ends there its last character. */
export function wordAt(text: string, position: number): { readonly from: number; readonly to: number } {
  const [word = ''] = /^(?:@?[\w.:]+|\S)/.exec(text.slice(position)) ?? [];
  if (word !== '') return { from: position, to: position + word.length };
  const to = text.trimEnd().length;
  return { from: Math.max(0, to - 1), to: Math.max(0, Math.min(to, text.length)) };
}
