// The editor of `stackmask play`: CodeMirror 6 with what that page needs, and nothing else. `./dev editor` bundles it
// into runtime/cli/editor.js.
import { EditorSelection, EditorState, StateEffect, StateField } from "@codemirror/state";
import {
  Decoration,
  EditorView,
  MatchDecorator,
  ViewPlugin,
  drawSelection,
  highlightActiveLine,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { history, historyKeymap, standardKeymap } from "@codemirror/commands";
import { lintKeymap, setDiagnostics } from "@codemirror/lint";
import { searchKeymap } from "@codemirror/search";

const mono = "14px/1.55 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace";

// colours are variables of the page, so that its dark mode is the editor's
const theme = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "var(--panel)", border: "1px solid var(--line)", borderRadius: "6px", height: "100%" },
  "&.cm-focused": { outline: "2px solid var(--here)", outlineOffset: "1px" },
  ".cm-scroller": { font: mono, borderRadius: "6px" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-cursor, .cm-dropCursor": { borderLeftColor: "var(--ink)" },
  "& .cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground": { background: "var(--chosen)" },
  ".cm-activeLine": { backgroundColor: "var(--line-here)" },
  ".cm-gutters": { backgroundColor: "var(--panel)", color: "var(--soft)", borderRight: "1px solid var(--line)", borderRadius: "6px 0 0 6px" },
  ".cm-specialChar": { color: "var(--bad)" },
  // lines instead of the library's pictures, which the page's policy refuses
  ".cm-lintRange": { backgroundImage: "none !important", paddingBottom: "0" },
  ".cm-lintRange-error": { textDecoration: "underline wavy var(--bad) 1.5px", textUnderlineOffset: "3px", textDecorationSkipInk: "none" },
  ".cm-lintRange-warning": { textDecoration: "underline wavy var(--warn) 1.5px", textUnderlineOffset: "3px", textDecorationSkipInk: "none" },
  ".cm-lintRange-active": { backgroundColor: "var(--bad-box)" },
  ".cm-lintPoint:after": { borderBottomColor: "var(--bad) !important" },
  ".cm-tooltip": { backgroundColor: "var(--panel)", color: "var(--ink)", border: "1px solid var(--line)", borderRadius: "4px", maxWidth: "36rem" },
  ".cm-diagnostic": { whiteSpace: "pre-wrap", overflowWrap: "anywhere", font: "13px/1.45 system-ui, sans-serif" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--bad)" },
  ".cm-diagnostic-warning": { borderLeftColor: "var(--warn)" },
  ".cm-panels": { backgroundColor: "var(--panel)", color: "var(--ink)" },
  ".cm-panels.cm-panels-bottom": { borderTop: "1px solid var(--line)" },
  ".cm-panel.cm-panel-lint ul [aria-selected]": { backgroundColor: "var(--chosen)", color: "var(--ink)" },
  ".cm-textfield, .cm-button": { backgroundImage: "none", backgroundColor: "var(--paper)", color: "var(--ink)", border: "1px solid var(--line)", borderRadius: "4px" },
  ".cm-searchMatch": { backgroundColor: "var(--c4)" },
  ".cm-searchMatch-selected": { outline: "2px solid var(--here)" },
  ".t-note": { color: "var(--soft)", fontStyle: "italic" },
  ".t-text": { color: "var(--t-text)" },
  ".t-set": { color: "var(--t-set)" },
  ".t-name": { color: "var(--t-name)", fontWeight: "600" },
  ".t-sign": { color: "var(--t-sign)" },
  ".at-here": { boxShadow: "0 0 0 1.5px var(--here)", borderRadius: "3px" },
  ".after-end": { color: "var(--soft)", textDecoration: "line-through" },
});

// What is coloured in each language. This is no reader: errors come from the server.
const quoted = String.raw`"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?`;
const languages = {
  ebnf: [
    [String.raw`(?:#|\/\/).*|\(\*[^]*?\*\)`, "t-note"],
    [quoted, "t-text"],
    [String.raw`\[(?:\\.|[^\]\\\n])*\]|\/(?:\\.|[^\/\\\n])+\/`, "t-set"],
    [String.raw`[A-Za-z0-9_][\w.-]*(?=\s*::=)|[%@][A-Za-z_]\w*`, "t-name"],
    [String.raw`::=|[|*+?&!]|\{\d*,?\d*\}|\s-\s`, "t-sign"],
    [String.raw`[A-Za-z0-9_][\w.-]*`, null], // a name that is used: nothing inside of it is a sign
  ],
  schema: [
    [String.raw`"(?:\\.|[^"\\\n])*"(?=\s*:)`, "t-name"],
    [String.raw`"(?:\\.|[^"\\\n])*"?`, "t-text"],
    [String.raw`-?\d[\d.eE+-]*|\b(?:true|false|null)\b`, "t-set"],
  ],
  regex: [
    [String.raw`\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|.)`, "t-text"],
    [String.raw`\[\^?\]?(?:\\.|[^\]\\\n])*\]`, "t-set"],
    [String.raw`\(\?(?:[:=!>]|<[=!]|P?<\w+>|[a-z-]+[:)])?|[()|]`, "t-name"],
    [String.raw`[*+?^$.]|\{\d*,?\d*\}`, "t-sign"],
  ],
  text: [],
};

function colours(kind) {
  const parts = languages[kind];
  if (!parts.length) return [];
  const marks = parts.map(([, name]) => name && Decoration.mark({ class: name }));
  const decorator = new MatchDecorator({
    regexp: new RegExp(parts.map(([pattern]) => `(${pattern})`).join("|"), "gu"),
    decoration: (match) => marks[match.slice(1).findIndex((found) => found !== undefined)],
    maxLength: 2000, // lines may be long: what is looked at before what is seen
  });
  return ViewPlugin.define(
    (view) => ({
      found: decorator.createDeco(view),
      update(change) { this.found = decorator.updateDeco(change, this.found); },
    }),
    { decorations: (plugin) => plugin.found },
  );
}

// parts of a text that are marked: the chosen token, and what follows the refused one
const setMarks = StateEffect.define();
const marked = StateField.define({
  create: () => Decoration.none,
  update(marks, change) {
    let found = marks.map(change.changes);
    for (const effect of change.effects) {
      if (effect.is(setMarks)) found = Decoration.set(effect.value.filter(([from, to]) => from < to).map(([from, to, name]) => Decoration.mark({ class: name }).range(from, to)), true);
    }
    return found;
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** Put an editor into an element. `onEdit` is called after changes of the text, `onMove` when the cursor has moved. */
export function makeEditor(parent, { label, numbers, wraps, onEdit, onMove }) {
  const extensions = (kind) => [
    theme,
    EditorState.lineSeparator.of("\n"), // other breaks of lines are characters, which are seen
    EditorView.clipboardInputFilter.of((text) => text.replace(/\r\n?/g, "\n")),
    EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", autocapitalize: "off", autocorrect: "off" }),
    numbers ? [lineNumbers(), highlightActiveLine()] : [],
    wraps ? EditorView.lineWrapping : [],
    highlightSpecialChars(),
    history(),
    drawSelection(),
    EditorState.allowMultipleSelections.of(false),
    keymap.of([...searchKeymap, ...standardKeymap, ...historyKeymap, ...lintKeymap]), // Tab leaves the editor
    marked,
    colours(kind),
    EditorView.updateListener.of((change) => {
      if (change.docChanged) onEdit();
      else if (change.selectionSet && onMove) onMove();
    }),
  ];
  const view = new EditorView({ parent });
  const end = () => view.state.doc.length;
  return {
    view,
    get text() { return view.state.doc.toString(); },
    get length() { return end(); },
    get cursor() { return view.state.selection.main.head; },
    get hasFocus() { return view.hasFocus; },
    /** Begin anew with a text in a language: `ebnf`, `schema`, `regex` or `text`. */
    start(text, kind) {
      view.setState(EditorState.create({ doc: text, extensions: extensions(kind) }));
    },
    /** Change the language that is coloured; text, cursor and history stay. */
    colour(kind) {
      view.dispatch({ effects: StateEffect.reconfigure.of(extensions(kind)) });
    },
    /** Show diagnostics: objects with start, end, severity and message. */
    diagnose(found) {
      const inside = (place) => Math.max(0, Math.min(place, end()));
      view.dispatch(setDiagnostics(view.state, found.map((each) => ({
        from: inside(each.start), to: inside(each.end), severity: each.severity, message: each.message,
      }))));
    },
    /** Mark places with classes: triples of start, end and class. */
    mark(found) {
      view.dispatch({ effects: setMarks.of(found.map(([from, to, name]) => [Math.min(from, end()), Math.min(to, end()), name])) });
    },
    /** Select a place, show it and begin to write there. */
    select(from, to) {
      view.dispatch({ selection: EditorSelection.single(Math.min(from, end()), Math.min(to, end())), scrollIntoView: true });
      view.focus();
    },
  };
}
