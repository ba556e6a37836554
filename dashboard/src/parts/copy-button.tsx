import Check from 'lucide-react/icons/check';
import Copy from 'lucide-react/icons/copy';
import { useEffect, useState, type ReactNode } from 'react';
import { IconButton } from './button.tsx';
import { showToast } from './toast.tsx';

const shownMs = 1_200;

interface CopyButtonProps {
  readonly text: string;
  readonly label: string;
  readonly small?: boolean;
}

/** Copies a text, and shows for a moment that it has. */
export function CopyButton({ text, label, small = true }: CopyButtonProps) {
  const [isCopied, setIsCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return undefined;
    const timer = setTimeout(() => setIsCopied(false), shownMs);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const Icon = isCopied ? Check : Copy;
  return (
    <IconButton
      icon={Icon}
      label={label}
      small={small}
      onClick={() => void copyText(text).then(setIsCopied)}
    />
  );
}

/** A text with what copies it; `children` in its place where it is shown in another way. */
export function TextToCopy({ text, label, children }: CopyButtonProps & { readonly children?: ReactNode }) {
  return (
    <span className="text-to-copy">
      <span className="mono wrap">{children ?? text}</span>
      <CopyButton text={text} label={label} />
    </span>
  );
}

/** Resolves to true when the text is in the clipboard. Browsers give no clipboard to pages of plain HTTP other than localhost. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    showToast('Your browser blocked copying. Select the text and copy it manually.', 'failed');
    return false;
  }
}
