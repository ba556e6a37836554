import {
  acceptCompletion,
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  closeCompletion,
  type CompletionContext,
  type CompletionResult,
  completionKeymap,
  completionStatus,
  insertCompletionText,
  startCompletion,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { bracketMatching, indentOnInput, syntaxHighlighting } from '@codemirror/language';
import { type Diagnostic, setDiagnostics } from '@codemirror/lint';
import { Annotation, Compartment, EditorState, type Extension } from '@codemirror/state';
import { EditorView, type KeyBinding, keymap, placeholder } from '@codemirror/view';
import { colours, look } from './editor-look.ts';
import { languageOf, type Tables, type TextLanguage, wordAt } from './text-languages.ts';

/** A text to put in the place of what is typed. */
export interface Completion {
  readonly text: string;
  /** What it is, in a word or two. */
  readonly hint: string;
}

export interface CompletionList {
  /** Where in the text the word begins that a completion takes the place of. */
  readonly from: number;
  readonly items: readonly Completion[];
}

export interface Problem {
  /** In UTF-16 units from 0. The word there is underlined. */
  readonly position: number;
  readonly message: string;
}

export interface EditorOptions {
  /** The accessible name. */
  readonly label: string;
  readonly value: string;
  readonly language: TextLanguage;
  readonly onChange: (value: string) => void;
  /** What is wrong with the whole text. */
  readonly error?: string | undefined;
  readonly problem?: Problem | undefined;
  readonly placeholder?: string;
  /** How many lines it has at least. */
  readonly lines?: number;
  /** What an SQL query can read: the columns of each table. */
  readonly tables?: Tables;
  readonly complete?: ((text: string, caret: number) => CompletionList) | undefined;
}

/** Marks what the page has written, not the person. */
const fromPage = Annotation.define<true>();

/**
 * The editor in an element. It is in a shadow tree: CodeMirror gives that constructed style sheets, where in the page itself it would add style
 * elements, which the policy of the page forbids. Tab indents where lines are indented; Esc and then Tab leaves.
 */
export class CodeEditor {
  readonly #view: EditorView;
  readonly #said = new Compartment();
  readonly #controller = new AbortController();
  #options: EditorOptions;
  /** Texts that the page was told of and has not given back yet. */
  #typed: readonly string[] = [];

  constructor(host: HTMLElement, options: EditorOptions) {
    this.#options = options;
    const root = host.shadowRoot ?? host.attachShadow({ mode: 'open', delegatesFocus: true });
    const state = EditorState.create({
      doc: options.value,
      extensions: [
        this.#said.of(spokenAttributes(options)),
        this.#editing(host.closest('fieldset:disabled') !== null),
        EditorView.updateListener.of(({ docChanged, transactions }) => {
          if (docChanged && !transactions.some((one) => one.annotation(fromPage) === true)) this.#tell();
        }),
      ],
    });
    this.#view = new EditorView({ state, root, parent: root });
    // The first that can have the focus has it when the host is given it.
    this.#view.scrollDOM.removeAttribute('tabindex');
    this.#markProblem();
    // It closes the list of completions, or comes before the Tab that leaves, and does not close the drawer around it as well.
    host.addEventListener(
      'keydown',
      (event) => {
        if (event.key === 'Escape' && event.defaultPrevented) event.stopPropagation();
      },
      { signal: this.#controller.signal },
    );
  }

  /** A form that is locked can be read. */
  #editing(isLocked: boolean): Extension {
    const { language, tables, lines = 1, placeholder: text = '' } = this.#options;
    // One object for every key: CodeMirror goes on with the source that it began with.
    const completions = [{ autocomplete: (context: CompletionContext) => this.#complete(context) }];
    return [
      history(),
      plainTyping,
      indentOnInput(),
      bracketMatching(),
      closeBrackets(),
      // Its keys are among those below.
      autocompletion({ icons: false, activateOnTypingDelay: 0, interactionDelay: 0, defaultKeymap: false }),
      keymap.of([
        ...(language === 'filter' ? [] : [leaving]),
        ...completionKeymap,
        { key: 'Tab', run: acceptCompletion },
        ...closeBracketsKeymap,
        // The page has its own meaning for it: save, send, test.
        ...defaultKeymap.filter(({ key }) => key !== 'Mod-Enter'),
        ...historyKeymap,
        ...(language === 'filter' ? [] : [indentWithTab]),
      ]),
      languageOf(language, tables),
      // Beside what the language itself offers.
      EditorState.languageData.of(() => completions),
      syntaxHighlighting(colours),
      placeholder(text),
      EditorView.editable.of(!isLocked),
      EditorView.lineWrapping,
      look,
      EditorView.theme({ '.cm-content': { minHeight: `calc(${lines} * 1.5em + 10px)` } }),
    ];
  }

  #complete({ state, pos }: CompletionContext): CompletionResult | null {
    const { from, items } = this.#options.complete?.(state.doc.toString(), pos) ?? { from: pos, items: [] };
    if (items.length === 0) return null;
    const options = items.map(({ text, hint }) => ({
      label: text,
      detail: hint,
      apply: () => {
        const { state: now } = this.#view;
        const { head } = now.selection.main;
        // The editor closes a quote or a brace when it is opened: this one takes its place as well.
        const next = now.sliceDoc(head, head + 1);
        const to = /['"}]/.test(next) && text.endsWith(next) ? head + 1 : head;
        this.#view.dispatch(insertCompletionText(now, text, from, to));
        // A name with more below it goes on at once.
        if (text.endsWith('.')) startCompletion(this.#view);
      },
    }));
    // At each key at once: a key that takes one would find none while they are looked up.
    const update = (...[, , , next]: Parameters<NonNullable<CompletionResult['update']>>) =>
      this.#complete(next);
    return { from, options, filter: false, update };
  }

  select(anchor: number, head: number): void {
    const { length } = this.#view.state.doc;
    this.#view.dispatch({ selection: { anchor: Math.min(anchor, length), head: Math.min(head, length) } });
    this.#view.focus();
  }

  /** Shows other options than before. The language stays. */
  update(options: Omit<EditorOptions, 'onChange'>): void {
    const before = this.#options;
    this.#options = { ...options, onChange: before.onChange };
    if (options.value !== before.value) this.#write(options.value);
    if (options.label !== before.label || spokenError(options) !== spokenError(before))
      this.#view.dispatch({ effects: this.#said.reconfigure(spokenAttributes(options)) });
    if (
      options.problem?.position !== before.problem?.position ||
      options.problem?.message !== before.problem?.message
    )
      this.#markProblem();
  }

  #tell(): void {
    const text = this.#view.state.doc.toString();
    this.#typed = [...this.#typed, text];
    this.#options.onChange(text);
  }

  /** Takes the text of the page. What was typed comes back from there as well, perhaps after the next key. */
  #write(text: string): void {
    const { doc } = this.#view.state;
    const at = this.#typed.indexOf(text);
    if (at === -1 && doc.toString() !== text) {
      const changes = { from: 0, to: doc.length, insert: text };
      this.#view.dispatch({ changes, annotations: fromPage.of(true) });
    }
    this.#typed = this.#typed.slice(at + 1);
  }

  #markProblem(): void {
    const { problem } = this.#options;
    const { state } = this.#view;
    const diagnostics: Diagnostic[] = [];
    if (problem !== undefined) {
      const { message, position } = problem;
      diagnostics.push({ ...wordAt(state.doc.toString(), position), message, severity: 'error' });
    }
    this.#view.dispatch(setDiagnostics(state, diagnostics));
  }

  stop(): void {
    this.#controller.abort();
    this.#view.destroy();
  }
}

/** Any key but Tab ends it. It closes an open list of completions instead; one that is still being made must not take the key. */
const leaving: KeyBinding = {
  key: 'Escape',
  run: (view) => {
    if (completionStatus(view.state) === 'active') return false;
    closeCompletion(view);
    view.setTabFocusMode(60_000);
    return true;
  },
};

/** What is typed over a coloured text would get its colours as an inline style from the browser, which the policy of the page forbids. */
const plainTyping = EditorView.domEventHandlers({
  beforeinput: (event, view) => {
    const { data } = event;
    const { from, to } = selectionOf(view);
    if (event.inputType !== 'insertText' || data === null || from === to || event.isComposing) return false;
    event.preventDefault();
    const insert = () =>
      view.state.update({
        changes: { from, to, insert: data },
        selection: { anchor: from + data.length },
        userEvent: 'input.type',
      });
    const handlers = view.state.facet(EditorView.inputHandler);
    if (!handlers.some((handle) => handle(view, from, to, data, insert))) view.dispatch(insert());
    return true;
  },
});

/** Returns what is selected on the screen, of which the state may not know yet. */
function selectionOf(view: EditorView): { readonly from: number; readonly to: number } {
  // The cast holds: Chromium has it for shadow trees as well, and other browsers have it not.
  const selection = (view.root as Partial<Document>).getSelection?.() ?? noSelection;
  const { anchorNode, anchorOffset, focusNode, focusOffset } = selection;
  if (anchorNode === null || focusNode === null || !view.contentDOM.contains(anchorNode))
    return view.state.selection.main;
  const [from = 0, to = 0] = [
    view.posAtDOM(anchorNode, anchorOffset),
    view.posAtDOM(focusNode, focusOffset),
  ].toSorted((one, other) => one - other);
  return { from, to };
}

const noSelection = { anchorNode: null, anchorOffset: 0, focusNode: null, focusOffset: 0 };

function spokenError({ error, problem }: Pick<EditorOptions, 'error' | 'problem'>): string | undefined {
  return error ?? problem?.message;
}

/** An id outside of the shadow tree cannot be referred to: the texts themselves are. */
function spokenAttributes(options: Pick<EditorOptions, 'label' | 'error' | 'problem'>): Extension {
  const error = spokenError(options);
  return EditorView.contentAttributes.of({
    'aria-label': options.label,
    ...(error !== undefined && { 'aria-invalid': 'true', 'aria-description': error }),
  });
}
