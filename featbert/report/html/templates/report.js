"use strict";
// The sentences of a comparison: which are shown, and how. All text goes in as text, never as HTML.
(() => {
  const PAGE = 20;
  const WHO = [
    ["differ", "A and B differ"],
    ["a", "A right, B wrong"],
    ["b", "B right, A wrong"],
    ["both", "both wrong"],
    ["any", "A or B wrong"],
  ];

  function element(tag, className, text) {
    const made = document.createElement(tag);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function fill(select, options) {
    const kept = select.value;
    select.replaceChildren(...options.map(([value, text]) => {
      const option = element("option", "", text);
      option.value = value;
      return option;
    }));
    if (options.some(([value]) => value === kept)) select.value = kept;
  }

  const key = (span) => span.join(" ");

  class Browser {
    constructor(root) {
      this.data = JSON.parse(root.querySelector("script").textContent);
      this.unit = root.dataset.unit;
      this.controls = {};
      for (const control of root.querySelectorAll("[data-control]")) {
        this.controls[control.dataset.control] = control;
      }
      this.parts = {};
      for (const part of root.querySelectorAll("[data-part]")) this.parts[part.dataset.part] = part;
      const { text, type, who, query } = this.controls;
      fill(text, this.data.texts.map((t, i) => [String(i), t.name]));
      const kinds = (spans) => (spans ?? []).map(([, , kind]) => kind);
      const all = this.data.texts.flatMap((t) => t.sentences).flatMap(
        ([, , gold, found]) => [gold, ...found].flatMap(kinds));
      this.types = [...new Set(all)].sort();
      fill(type, [["", "all"], ...this.types.map((name) => [name, name])]);
      fill(who, WHO);
      text.addEventListener("change", () => this.takeText());
      for (const control of [this.controls.a, this.controls.b, type, who]) {
        control.addEventListener("change", () => this.filter());
      }
      query.addEventListener("input", () => this.filter());
      this.parts.more.addEventListener("click", () => this.more());
      root.querySelector(".controls").hidden = false;
      this.takeText();
    }

    takeText() {
      this.text = this.data.texts[Number(this.controls.text.value)];
      const rows = this.text.rows.map((row, i) => [String(i), row.name]);
      for (const side of ["a", "b"]) {
        const control = this.controls[side];
        const before = control.selectedOptions[0]?.textContent;
        fill(control, rows);
        const same = this.text.rows.findIndex((row) => row.name === before);
        control.value = String(same < 0 ? this.text[side] : same);
      }
      this.parts.about.textContent = this.text.about;
      this.filter();
    }

    // Entities of a sentence that count under the chosen type: the gold ones for side null.
    spans(sentence, side) {
      const [, , gold, found] = sentence;
      const all = side === null ? gold : found[side] ?? gold;
      const type = this.controls.type.value;
      return type === "" ? all : all.filter((span) => span[2] === type);
    }

    same(one, other) {
      return one.length === other.length && one.every((span, i) => key(span) === key(other[i]));
    }

    wanted(sentence) {
      const query = this.controls.query.value.trim().toLowerCase();
      if (query && !sentence[1].join(" ").toLowerCase().includes(query)) return false;
      const [gold, a, b] = [null, this.a, this.b].map((side) => this.spans(sentence, side));
      const [right, other] = [this.same(a, gold), this.same(b, gold)];
      switch (this.controls.who.value) {
        case "a": return right && !other;
        case "b": return other && !right;
        case "both": return !right && !other;
        case "any": return !right || !other;
        default: return !this.same(a, b);
      }
    }

    filter() {
      this.a = Number(this.controls.a.value);
      this.b = Number(this.controls.b.value);
      this.found = this.text.sentences.filter((sentence) => this.wanted(sentence));
      const n = this.found.length;
      this.parts.count.textContent = `${n.toLocaleString("en")} ${this.unit}${n === 1 ? "" : "s"}`;
      this.parts.list.replaceChildren();
      this.more();
    }

    more() {
      const done = this.parts.list.childElementCount;
      const next = this.found.slice(done, done + PAGE);
      this.parts.list.append(...next.map((sentence) => this.item(sentence)));
      this.parts.more.hidden = done + next.length >= this.found.length;
    }

    item(sentence) {
      const item = element("li");
      item.append(element("div", "number", `${this.unit} ${sentence[0]}`));
      item.append(this.line(sentence, null, "gold"));
      for (const [side, letter] of [[this.a, "A"], [this.b, "B"]]) {
        item.append(this.line(sentence, side, `${letter} ${this.text.rows[side].name}`));
      }
      return item;
    }

    line(sentence, side, label) {
      const name = element("div", "name", label);
      const line = element("div", "line");
      if (side !== null) {
        const row = this.text.rows[side];
        const right = this.same(this.spans(sentence, side), this.spans(sentence, null));
        line.classList.add(right ? "is-right" : "is-wrong");
        const verdict = element("span", "verdict", right ? " ✓" : " ✗");
        verdict.setAttribute("aria-hidden", "true");
        name.append(verdict, element("span", "hidden", right ? " right" : " wrong"));
        name.title = `${row.run} (seed ${row.seed})`;
      }
      line.append(name, this.words(sentence, side));
      return line;
    }

    words(sentence, side) {
      const [, words, gold, found] = sentence;
      const spans = side === null ? gold : found[side] ?? gold;
      const known = new Set(gold.map(key));
      const shown = element("div", "words");
      shown.dir = "auto";
      let at = 0;
      for (const span of spans) {
        const [first, stop, kind] = span;
        if (first > at) shown.append(`${words.slice(at, first).join(" ")} `);
        const mark = element("mark", `k${this.types.indexOf(kind) % 8}`, words.slice(first, stop).join(" "));
        if (!known.has(key(span))) mark.classList.add("off");
        mark.append(" ", element("span", "kind", kind));
        shown.append(mark, " ");
        at = stop;
      }
      shown.append(words.slice(at).join(" "));
      return shown;
    }
  }

  for (const root of document.querySelectorAll(".browser")) new Browser(root);
})();
