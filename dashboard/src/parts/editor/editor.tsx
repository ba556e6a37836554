import { useQuery } from '@tanstack/react-query';
import { useEffectEvent, useLayoutEffect, useRef, type RefObject } from 'react';
import { errorAttributes } from '../labelled-field.tsx';
import type { CodeEditor, EditorOptions } from './code-editor.ts';

interface EditorProps extends Omit<EditorOptions, 'onChange'> {
  readonly id: string;
  readonly onChange: (value: string) => void;
  readonly onBlur?: () => void;
}

/**
 * A text that a program reads: coloured, completed, and underlined where it is wrong. It is a plain input until the editor is loaded, and
 * where that fails.
 */
export function Editor(props: EditorProps) {
  const { data } = useQuery({
    queryKey: ['code editor'],
    queryFn: async () => import('./code-editor.ts'),
    networkMode: 'always',
    staleTime: Infinity,
    gcTime: Infinity,
    retry: false,
  });
  const selection = useRef<Selection>(undefined);
  if (data === undefined) return <PlainText {...props} selection={selection} />;
  return (
    <Code {...props} open={(host, options) => new data.CodeEditor(host, options)} selection={selection} />
  );
}

interface Selection {
  readonly start: number;
  readonly end: number;
}

interface PartProps extends EditorProps {
  /** Of the plain input when it goes while somebody types: the editor goes on from there. */
  readonly selection: RefObject<Selection | undefined>;
}

function PlainText({ id, label, value, lines, placeholder, error, onChange, onBlur, selection }: PartProps) {
  const text = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    const node = text.current;
    return () => {
      if (node !== null && document.activeElement === node)
        selection.current = { start: node.selectionStart, end: node.selectionEnd };
    };
  }, [selection]);
  return (
    <textarea
      ref={text}
      id={id}
      className="input mono"
      rows={lines}
      aria-label={label}
      placeholder={placeholder}
      value={value}
      spellCheck={false}
      autoComplete="off"
      onChange={(event) => onChange(event.target.value)}
      onBlur={onBlur}
      {...errorAttributes(id, error)}
    />
  );
}

interface CodeProps extends PartProps {
  readonly open: (host: HTMLElement, options: EditorOptions) => CodeEditor;
}

function Code({ open, selection, id, onChange, onBlur, ...options }: CodeProps) {
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<CodeEditor>(undefined);
  const change = useEffectEvent((value: string) => onChange(value));
  const start = useEffectEvent((node: HTMLElement) =>
    open(node, { ...options, onChange: (value) => change(value) }),
  );
  useLayoutEffect(() => {
    if (host.current === null) return undefined;
    const started = start(host.current);
    editor.current = started;
    if (selection.current !== undefined) started.select(selection.current.start, selection.current.end);
    // Only form controls of the page itself get the focus from their labels.
    const label = document.querySelector<HTMLLabelElement>(`label[for="${CSS.escape(id)}"]`);
    const focus = (): void => host.current?.focus();
    label?.addEventListener('click', focus);
    return () => {
      label?.removeEventListener('click', focus);
      started.stop();
    };
  }, [id, selection]);
  useLayoutEffect(() => editor.current?.update(options));
  return (
    <div
      ref={host}
      id={id}
      className="editor mono"
      data-invalid={options.error === undefined ? undefined : ''}
      onBlur={onBlur}
    />
  );
}
