import { useQuery } from '@tanstack/react-query';
import type { Collection } from '../../api/client.ts';
import { type CollectionInput, ruleCheckQuery } from '../../api/definitions.ts';
import { Editor } from '../../parts/editor/editor.tsx';
import { useSettled } from '../../parts/use-settled.ts';
import { completeRule } from '../../parts/complete-rule.ts';

interface RuleInputProps {
  readonly id: string;
  readonly label: string;
  readonly value: string;
  readonly collection: Collection;
  readonly collections: readonly Collection[];
  readonly error: string | undefined;
  /** In which the rule is checked while it is typed. */
  readonly definition: CollectionInput;
  readonly onChange: (text: string) => void;
}

/** The expression of a rule, completed and checked while it is typed. */
export function RuleInput({ collection, collections, definition, ...props }: RuleInputProps) {
  const problem = useProblem(props.value, definition);
  const isShown = props.error === undefined && problem !== undefined;
  return (
    <>
      <Editor
        {...props}
        language="filter"
        placeholder="author = @request.auth.id && status != 'closed'"
        problem={problem}
        complete={(text, caret) => completeRule(text, caret, { collection, collections })}
      />
      {isShown && (
        <p className="field-error" role="status">
          {problem.message}
        </p>
      )}
    </>
  );
}

/** What is wrong with a rule. Nothing while it is well-formed, or not known yet. */
function useProblem(rule: string, definition: CollectionInput) {
  const current = JSON.stringify([definition, rule]);
  const isSettled = useSettled(current) === current;
  const { data: check } = useQuery({
    ...ruleCheckQuery(definition, rule),
    enabled: isSettled && rule !== '',
  });
  if (!isSettled || check === undefined || check.isValid) return undefined;
  return { position: check.position ?? 0, message: check.message };
}
