"""A transformers model with regard's attention: one call, and one argument.

The model is a small Llama of random weights, so that nothing is fetched. Yours loads with
AutoModelForCausalLM.from_pretrained(name, attn_implementation="regard").
"""

import torch
from transformers import AutoModelForCausalLM, LlamaConfig

import regard.hf

regard.hf.register()

config = LlamaConfig(
    vocab_size=100, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
    num_attention_heads=8, num_key_value_heads=2, initializer_range=0.3,
    bos_token_id=None, eos_token_id=None, pad_token_id=0,
)  # fmt: skip
torch.manual_seed(0)
model = AutoModelForCausalLM.from_config(config, attn_implementation="regard").eval()

# Two prompts of different lengths, the shorter one padded on the left.
tokens = torch.tensor([[11, 12, 13, 14, 15, 16], [0, 0, 21, 22, 23, 24]])
inputs = {"input_ids": tokens, "attention_mask": (tokens != 0).long()}

generated = model.generate(**inputs, max_new_tokens=20, do_sample=False)
print("generated", generated[:, 6:].tolist())

with torch.no_grad():
    weights = model(**inputs, output_attentions=True).attentions
print("weights of the last layer", tuple(weights[-1].shape))

model.set_attn_implementation("eager")
same = torch.equal(model.generate(**inputs, max_new_tokens=20, do_sample=False), generated)
print("eager attention gives", "the same tokens" if same else "other tokens")
