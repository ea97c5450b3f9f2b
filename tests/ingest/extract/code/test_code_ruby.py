"""Ruby: what a snippet defines, calls and requires."""

from __future__ import annotations

import pytest
from code_facts import call_lines, extracted, symbol_lines

from dowse.ingest.extract.code.extract import split_unparsed_code

SYMBOLS = [
    ("module A\n  class B < C::D\n  end\nend", ["namespace A", "class A.B"]),
    ("module A\n  def self.f; end\nend", ["class A", "method A.f"]),
    ("class P::Q; end", ["namespace P", "class P.Q"]),
    ("X = Foo.new(1)\nY = [Foo.new]", ["variable X = :Foo;", "variable Y = :Foo[];"]),
    ("class A\n  attr_accessor :a, :b\n  attr_reader :c\nend",
     ["class A", "property A.a = this.@a", "property A.a=", "property A.b = this.@b", "property A.b=",
      "property A.c = this.@c"]),
    ("class A\n  attr_writer :w\n  attr 'r'\n  cattr_accessor :k\n  mattr_reader :m\nend",
     ["class A", "property A.w=", "property A.r = this.@r", "property A.k = this.@k", "property A.k=",
      "property A.m = this.@m"]),
    ("class A\n  def_delegators :@xs, :size, :<<\n  delegate :ok?, to: :b\nend",
     ["class A", "property A.size", "property A.<<", "property A.ok?"]),
    ("A, B = 1, 2\nC ||= 3\nD::E = 4",
     ["variable A", "variable B", "variable C = :Integer;", "variable E = :Integer;"]),
    ("describe 'x' do\n  K = 1\n  y = 2\nend", ["variable K = :Integer;"]),
    ("class A\n  included do\n    K = 1\n  end\nend", ["class A", "variable A.K = :Integer;"]),
    ("class A\n  def initialize(r)\n    @repo = Repo.new\n    @repo = nil\n    @@n = 0\n  end\nend",
     ["class A", "constructor A.initialize", "field A.@repo = :Repo;", "field A.@@n = :Integer;"]),
    ("class A\n  class << self\n    def q; end\n  end\nend", ["class A", "method A.q"]),
    ("class A\n  def self.make(x) = new(x)\nend", ["class A", "method A.make = :Self;"]),
    ("class A\n  def ok?; Foo.new; end\n  def save!; end\n  def x=(v); end\nend",
     ["class A", "method A.ok? = :Foo;", "method A.save!", "method A.x="]),
    ("class A\n  def ==(o); end\n  def [](i); end\n  def self.go!; end\nend",
     ["class A", "method A.==", "method A.[]", "method A.go!"]),
    ("class A\n  alias_method 'n?', :m\n  alias :o! :m\n  define_method(\"d#{x}\") { }\nend",
     ["class A", "method A.n?", "method A.o!"]),
    ("class A\n  alias_method :n, :m\n  alias o m\n  define_method(:d) { |x| x }\nend",
     ["class A", "method A.n", "method A.o", "method A.d"]),
    ("def top\n  return Foo.new if x\n  1\nend", ["function top = :Foo;"]),
    ("x = 1\nfoo(x)", []),
]  # fmt: skip

CALLS = [
    ("foo(1)", ["A.f: foo foo"]),
    (
        "self.foo; @repo.find(1).name",
        ["A.f: foo this.foo", "A.f: name this.@repo.find().name", "A.f: find this.@repo.find"],
    ),
    ("x = Foo.new; x.go", ["new A.f: Foo :Foo;", "A.f: go :Foo;.go"]),
    ("x = A::B.new; x&.go", ["new A.f: B :A.B;", "A.f: go :A.B;.go"]),
    ("x ||= Foo.new; x.go!", ["new A.f: Foo :Foo;", "A.f: go! :Foo;.go!!"]),
    ("ok?; save!(1); p.go!", ["A.f: ok? ok?", "A.f: save! save!!", "A.f: go! ?.go!!"]),
    ("p.go", ["A.f: go ?.go"]),
    ("xs.each do |e| e.run end", ["A.f: each xs.each", "A.f: run xs[].run"]),
    ("xs.tap { |e| e.run }", ["A.f: tap xs.tap", "A.f: run ?.run"]),
    ("for i in xs do i.go end", ["A.f: go xs[].go"]),
    ("begin; rescue Err => e; e.msg; end", ["A.f: msg :Err;.msg"]),
    ("u, v = pair; u.go", ["A.f: go pair[].go"]),
    ("g\nh", ["refer A.f: g g"]),
    ("super(1)", ["A.f: super super"]),
    ("raise Foo.new('x')", ["new A.f: Foo :Foo;"]),
    ('"a#{b.c}"', ["A.f: c b.c"]),
]


@pytest.mark.parametrize(("source", "expected"), SYMBOLS)
def test_definitions(source, expected):
    assert symbol_lines(extracted("a.rb", source)) == expected


@pytest.mark.parametrize(("body", "expected"), CALLS)
def test_calls(body, expected):
    found = extracted("a.rb", f"class A\n def f(p)\n {body}\n end\n def g; end\nend")
    assert call_lines(found) == expected


def test_what_definitions_say_of_themselves():
    source = "class B < C::D\n  include Comparable, E\n  def self.m?(a, b = 1, *c, k:, **r, &blk)\n  end\nend\n"
    kind, method = extracted("a.rb", source).symbols
    assert (kind.bases, kind.signature) == (("C::D", "Comparable", "E"), "class B < C::D")
    assert (method.modifiers, len(method.parameters)) == (("static",), 5)
    assert method.signature == "def self.m?(a, b = 1, *c, k:, **r, &blk)"


def test_a_constant_in_a_block_is_no_place_to_cut():
    text = "describe 'x' do\n" + "".join(f"  K{number} = 'some value'\n\n" for number in range(200)) + "end\n"
    found = extracted("a.rb", text)
    assert len(found.symbols) == 200
    assert found.blocks == split_unparsed_code(text)


def test_requires():
    source = "require 'json'\nrequire_relative \"../a/b\"\nrequire_relative 'c'\n"
    assert [(it.target, it.context) for it in extracted("a.rb", source).links] == [
        ("json", "*="), ("../a/b", "*="), ("./c", "*="),
    ]  # fmt: skip


def test_how_involved_a_method_is():
    source = """
        def f(a, b)
          if a && b
            while x do g { |q| q } end
          elsif b
            return 1
          else
            return 2
          end
          case a when 1 then 2 when 3 then 4 else 5 end
        end
    """
    (it,) = extracted("a.rb", source).symbols
    assert it.stats is not None
    assert tuple(it.stats) == (7, 7, 3, 2, 2, 1, 1)


@pytest.mark.parametrize(("source", "reason"), [("# c", "only comments"), ("puts 1", "only statements")])
def test_why_a_file_defines_nothing(source, reason):
    assert extracted("Rakefile", source).facets == {"language": "ruby", "empty": reason}
