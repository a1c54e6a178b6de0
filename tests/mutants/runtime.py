"""Mutants of matchers, engines, kernels and the program: ``runtime``."""

from __future__ import annotations

from mutants.mutant import Mutant

ROWS = (
    Mutant('kernel-edge', 'runtime/kernels/gpu', 'columns % 32', 'columns % 32 + 1', "Tokens behind the last column that a mask speaks of are forbidden by the GPU's kernels.", ('tests/runtime/kernels/test_mask_table.py', 'tests/runtime/kernels/test_apply.py')),
    Mutant('other-imports', 'runtime/extras', 'not in', 'in', 'A missing library of an extra is named together with the extra.', ('tests/runtime/cli/test_cli.py::test_without_an_extra_the_program_names_it', 'tests/runtime/comparison/test_compare.py::test_plot_without_matplotlib_names_the_extra')),
    Mutant('question-line', 'runtime/embedded', '" ".join(question.split())', 'question.strip()', 'A question is one line of the prompt, whatever blanks it has.', ('tests/embedded/test_model.py',)),
    Mutant('strip-none', 'runtime/vocabulary/tokenizers', 'start == 1', 'start <= 1', "The first blank is dropped only if the tokenizer's decoder does so.", ('tests/runtime/vocabulary/test_tokenizers.py',)),
    Mutant('text-place', 'runtime/jump_forward', '>= calls', '> calls', 'What is taken back is forgotten, also where text was accepted that is no token.', ('tests/runtime/jump_forward/test_jump_forward.py', 'tests/exactness/test_jumps.py')),
    Mutant('followers', 'runtime/jump_forward', 'min(stable, self._agreed(end, text + follower, stable))', 'stable', 'A token is proposed only if no text that may follow moves its end.', ('tests/runtime/jump_forward/test_jump_forward.py', 'tests/exactness/test_jumps.py')),
    Mutant('special-text', 'runtime/vocabulary', 'in special if', 'in stops if', 'A special token is never text.', ('tests/runtime/vocabulary/test_vocabulary.py', 'tests/exactness/test_special_tokens.py')),
    Mutant('rollback-stop', 'runtime/matching', 'self.terminated = False', 'pass', 'A stop token can be taken back.', ('tests/exactness/test_history.py::test_rollback_of_a_stop_token',)),
    Mutant('draft-parent', 'runtime/matching', 'places[parent]', 'places[i - 1]', 'A draft token goes on from its parent, not from the token listed before it.', ('tests/exactness/test_history.py::test_draft_trees',)),
    Mutant('stop-anywhere', 'runtime/matching', 'matcher.family.configs[config].accepting', 'True', 'A stop token is allowed only where the text may end, in batches too.', ('tests/runtime/matching/test_batch.py', 'tests/exactness/test_history.py::test_batches')),
    Mutant('fsm-special', 'runtime/fsm', 'self.dfa.specials', 'False', 'The finite-state matcher accepts each special token that its mask allows.', ('tests/runtime/fsm/test_fsm_grammars.py', 'tests/runtime/fsm/test_fsm_matcher.py')),
    Mutant('one-byte', 'runtime/fsm', ' or dfa.low[e] != dfa.high[e]', '', 'A byte is forced only where no other one may come.', ('tests/runtime/fsm/test_fsm_matcher.py', 'tests/runtime/fsm/test_fsm_compile.py')),
    Mutant('mark-once', 'runtime/fsm', 'i < j', 'False', 'A state is marked once, so that the automaton is split as minimisation asks.', ('tests/runtime/fsm/test_fsm_regexes.py',)),
    Mutant('shared-rows', 'runtime/kernels', '< reach', '< 0', "Logits whose rows share memory are refused: one row's mask would forbid in another.", ('tests/runtime/kernels/test_apply.py',)),
    Mutant('padding', 'runtime/kernels', 'word:', 'word + 1 :', 'A new mask allows nothing past the vocabulary.', ('tests/runtime/kernels/test_bitmask.py',)),
    Mutant('which-side', 'runtime/comparison', 'theirs[at', 'ours[at', 'A difference says which engine allows the token.', ('tests/runtime/comparison/test_compare.py::test_differences_name_the_first_token',)),
    Mutant('strip-once', 'runtime/generation', 'False', 'True', 'Only the first blank of an output is dropped.', ('tests/runtime/generation/test_generate.py::test_the_leading_space_of_sentencepiece', 'tests/runtime/generation/test_generate.py::test_text_decoder_waits_for_whole_characters')),
    Mutant('going-back', 'runtime/generation', ' - (self.depth - depth)', '', 'A row that goes back forgets the tokens that it gave up.', ('tests/runtime/generation/test_rows.py', 'tests/runtime/generation/test_processor.py')),
    Mutant('early-end', 'runtime/cli', ' and matcher.is_accepting()', '', 'A text that ends too early is rejected.', ('tests/runtime/cli/test_cli.py',)),
)
